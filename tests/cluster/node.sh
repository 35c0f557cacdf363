#!/usr/bin/env bash
# The first process of one node's namespaces: containerd, kubelet, kube-proxy. Its end is theirs.
# STATE: folder of the node. NAME, ADDRESS: its own. CONTROL: the control plane's address. PKI:
# folder of the certificates. ROUTES: "subnet=node's address …" of the pods on all nodes.
set -uo pipefail

run() { # NAME COMMAND…
    local name=$1
    shift
    "$@" > "$STATE/log/$name.log" 2>&1 &
}

# What a machine of its own would have, mounted where programs look for it.
folders() {
    mount --make-rshared /
    mount --bind "$STATE/kubelet" /var/lib/kubelet
    mount --bind "$STATE/podlogs" /var/log/pods
    mount --bind "$STATE/machine" /var/lib/tierbench
    mount -t tmpfs tmpfs /var/lib/cni
    mount -t tmpfs tmpfs /run/containerd
    mount -t tmpfs tmpfs /run/netns
}

# The kubelet insists on six kernel settings. It finds them so; the machine's own stay as they are.
settings() {
    local setting file
    for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 \
        kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 \
        kernel/keys/root_maxbytes=25000000; do
        file=$STATE/settings/$(tr / _ <<< "${setting%%=*}")
        echo "${setting##*=}" > "$file"
        mount --bind "$file" "/proc/sys/${setting%%=*}"
    done
}

network() {
    until ip link show eth0 &> /dev/null; do
        sleep 0.05
    done
    hostname "$NAME"
    ip link set lo up
    ip addr add "$ADDRESS/24" dev eth0
    ip link set eth0 up
    ip route add default via "$CONTROL"
    sysctl -qw net.ipv4.ip_forward=1
    local route
    for route in $ROUTES; do
        [ "${route##*=}" = "$ADDRESS" ] || ip route add "${route%%=*}" via "${route##*=}"
    done
}

folders
settings
network
run containerd containerd --config "$STATE/containerd.toml"
until curl -sf --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" --key "$PKI/admin.key" \
    "https://$CONTROL:6443/readyz" > /dev/null; do
    sleep 0.1
done
run kubelet kubelet --config="$STATE/kubelet.json" --kubeconfig="$PKI/$NAME.kubeconfig" \
    --hostname-override="$NAME" --node-ip="$ADDRESS" --root-dir=/var/lib/kubelet \
    --cert-dir="$STATE" --node-labels="topology.kubernetes.io/zone=zone-${NAME##*-}" --v=2
run proxy kube-proxy --config="$STATE/proxy.json"
wait
