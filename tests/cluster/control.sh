#!/usr/bin/env bash
# The first process of the control plane's namespaces: etcd, the servers of Kubernetes, CoreDNS. Its
# bridge `nodes` is the network between the nodes. Its end is theirs.
# STATE: folder of the cluster. ADDRESS: own address. ROUTES: "subnet=node's address …" of the pods.
set -uo pipefail
pki=$STATE/pki

run() { # NAME COMMAND…
    local name=$1
    shift
    "$@" > "$STATE/log/$name.log" 2>&1 &
}

network() {
    ip link set lo up
    ip link add nodes type bridge
    ip addr add "$ADDRESS/24" dev nodes
    ip link set nodes up
    sysctl -qw net.ipv4.ip_forward=1
    local route
    for route in $ROUTES; do
        ip route add "${route%%=*}" via "${route##*=}" dev nodes
    done
}

etcd_server() {
    run etcd etcd --name control --data-dir "$STATE/etcd" --unsafe-no-fsync \
        --logger=zap --log-level=warn \
        --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380 \
        --initial-advertise-peer-urls http://127.0.0.1:2380 \
        --initial-cluster control=http://127.0.0.1:2380
}

api_server() {
    run apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --profiling=false \
        --secure-port=6443 --bind-address=0.0.0.0 --advertise-address="$ADDRESS" \
        --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
        --client-ca-file="$pki/ca.crt" --service-account-key-file="$pki/sa.pub" \
        --service-account-signing-key-file="$pki/sa.key" \
        --service-account-issuer=https://kubernetes.default.svc.cluster.local \
        --service-cluster-ip-range=10.96.0.0/16 --authorization-mode=Node,RBAC \
        --enable-admission-plugins=NodeRestriction --allow-privileged=true \
        --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" \
        --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP
    until curl -sf --cacert "$pki/ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" \
        "https://$ADDRESS:6443/readyz" > /dev/null; do
        sleep 0.1
    done
}

# The grace periods are shorter than Kubernetes' own, so that a test need not wait for minutes.
controllers() {
    run controllers kube-controller-manager --kubeconfig="$pki/controllers.kubeconfig" \
        --leader-elect=false --use-service-account-credentials=true --profiling=false \
        --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" \
        --allocate-node-cidrs=false --bind-address=127.0.0.1 \
        --node-monitor-period=2s --node-monitor-grace-period=16s
    run scheduler kube-scheduler --kubeconfig="$pki/scheduler.kubeconfig" \
        --leader-elect=false --bind-address=127.0.0.1 --profiling=false
}

network
etcd_server
api_server
controllers
run coredns coredns -conf "$STATE/Corefile"
wait
