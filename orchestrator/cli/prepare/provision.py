"""Provides what a first campaign needs: a Docker engine, the base image, our images.

Each step first looks whether it is already done, so a second call costs next to nothing. If a step
cannot be done here, the error says exactly what to install or load."""

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from platform import system as system_name
from typing import cast

from orchestrator.cli.common.app import App
from orchestrator.errors import UnavailableError
from orchestrator.platforms import own_images
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Platform, Progress
from orchestrator.system import at_once, files
from orchestrator.system.at_once import StartedCall
from orchestrator.system.clock import wait_until

_APT_S = 600.0
_ENGINE_LOG = Path("/var/log/tierbench-dockerd.log")


def provide(app: App, names: Sequence[str] = own_images.OURS) -> DockerPlatform:
    """Provides engine, base image and images of ours. UnavailableError if one cannot be had."""
    engine = provide_engine(app)
    provide_base(engine, app)
    # Each build waits for Debian's packages most of its time, so they wait together.
    builds: list[StartedCall[str]] = []
    for name in names:
        build = partial(own_images.provide, app.root, name, engine, app.progress)
        builds.append(at_once.begun(build))
    at_once.all_ended(builds)
    for started in builds:
        started.result()
    return engine


def bring_images(
    engine: DockerPlatform,
    platform: Platform,
    names: Sequence[str],
    root: Path,
    progress: Progress,
) -> None:
    """Brings images of ours from `engine` to where `platform` looks for them.

    They are pushed to the registry that TIERBENCH_REGISTRY names. Without one nothing is pushed,
    because a user may have loaded the images on each machine. UnavailableError if the platform does
    not find an image in the end.
    """
    prefix = own_images.registry()
    for name in names:
        tag = own_images.tag(root, name)
        if prefix:
            progress.step(f"pushing {tag} to {prefix}", 20)
            engine.images.push(tag, prefix)
        if not platform.images.present(tag):
            raise UnavailableError(
                f"the image {tag} is not on all machines of {platform.name}",
                platform.images.ways_to_get(tag),
            )


def provide_engine(app: App) -> DockerPlatform:
    """Connects to the engine; installs and starts one if none is there (Debian, root)."""
    try:
        return _engine(app)
    except UnavailableError as error:
        # The user has named an engine. Another one, started here, would not be the one asked for.
        if os.environ.get("DOCKER_HOST"):
            raise
        if system_name() != "Linux" or app.user != 0:
            raise UnavailableError(
                "no Docker engine answers, and only root on Linux can start one "
                f"({error})",
                "start Docker (or add your user to the group docker), then run it again",
            ) from error
    if shutil.which("dockerd") is None:
        _apt_install("docker.io", "no Docker engine is installed", app)
    _start_engine(app)
    return _engine(app)


def _engine(app: App) -> DockerPlatform:
    return cast(DockerPlatform, app.connect())


def _start_engine(app: App) -> None:
    def answers() -> bool:
        try:
            _engine(app)
        except UnavailableError:
            return False
        return True

    # The package's own service script may have started it.
    if answers():
        return
    clock = app.clock
    shell = app.shell
    progress = app.progress
    progress.step("starting the Docker engine", 10)
    # The folder is there if systemd runs, and not only its programs (sd_booted(3)).
    if Path("/run/systemd/system").is_dir():
        shell.run(("systemctl", "start", "docker"), timeout_s=60)
        if wait_until(answers, deadline_s=20, clock=clock, every_s=0.5):
            return
    # The init script sets limits that some hosts refuse; the daemon itself does not need them.
    shell.run(_outliving("dockerd", _ENGINE_LOG), timeout_s=20)
    if not wait_until(answers, deadline_s=40, clock=clock, every_s=0.5):
        lines = _ENGINE_LOG.read_text(encoding="utf-8", errors="replace").splitlines()
        raise UnavailableError(
            "the Docker engine was started but does not answer",
            f"look at {_ENGINE_LOG}",
            evidence="\n".join(lines[-15:]),
        )
    progress.note(f"started the Docker engine (its log: {_ENGINE_LOG})")


def _outliving(program: str, log: Path) -> tuple[str, ...]:
    """The command that starts a daemon, in a session of its own, and does not wait for it."""
    # A Ctrl-C or a closed terminal would end it in the session of `tierbench setup`.
    return ("sh", "-c", 'setsid "$0" </dev/null >>"$1" 2>&1 &', program, str(log))


def provide_base(platform: DockerPlatform, app: App) -> None:
    """Provides the base image: present, pulled, or made from Debian's own packages."""
    if platform.images.present(own_images.BASE):
        return
    progress = app.progress
    progress.step(f"pulling {own_images.BASE}", 20)
    if platform.images.pull(own_images.BASE):
        return
    progress.note(
        f"{own_images.BASE} cannot be pulled: making it from Debian's packages"
    )
    if shutil.which("mmdebstrap") is None:
        _apt_install(
            "mmdebstrap", f"{own_images.BASE} can neither be pulled nor made", app
        )
    progress.step(f"making {own_images.BASE}", 30)
    files.make_folder(app.cache)
    tarball = app.cache / "trixie.tar"
    # minbase is what is essential, and apt, by which our images install all else.
    bootstrap = ("mmdebstrap", "--variant=minbase", "trixie", str(tarball))
    done = app.shell.run(bootstrap, timeout_s=_APT_S)
    if done.exit_code != 0:
        raise UnavailableError(
            f"{own_images.BASE} can neither be pulled nor made here",
            f"bring it with `docker load`, tagged {own_images.BASE}",
            evidence=done.tail(),
        )
    platform.images.import_image(
        str(tarball), own_images.BASE_REPOSITORY, own_images.BASE_TAG
    )
    tarball.unlink()


def _apt_install(package: str, why: str, app: App) -> None:
    if shutil.which("apt-get") is None or app.user != 0:
        raise UnavailableError(
            why, advice=f"install it with your package system: {package}"
        )
    shell = app.shell
    progress = app.progress
    progress.step(f"installing {package}", 30)
    # A package that asks something would wait for an answer that nobody gives.
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    install = ("apt-get", "install", "-y", "--no-install-recommends", package)
    done = shell.run(install, timeout_s=_APT_S, env=env)
    if done.exit_code != 0:  # the package lists may be missing or old
        shell.run(("apt-get", "update"), timeout_s=_APT_S, env=env)
        done = shell.run(install, timeout_s=_APT_S, env=env)
    if done.exit_code != 0:
        raise UnavailableError(
            f"{why}, and installing {package} failed",
            f"install it by hand: apt-get install {package}",
            evidence=done.tail(),
        )
    progress.note(f"installed {package}")
