package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// Node is a memory node (NUMA) with its part of the pools.
type Node struct {
	Node    int           `json:"node"`
	TotalKB uint64        `json:"total_kb"`
	FreeKB  uint64        `json:"free_kb"`
	Pools   []probes.Pool `json:"pools,omitempty"` // sysfs shows no reserved pages of a node
}

const nodesDir = "/sys/devices/system/node"

func lookAtNodes(f files) []Node {
	var out []Node
	for _, name := range f.names(nodesDir) {
		n, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		if err != nil || !strings.HasPrefix(name, "node") {
			continue
		}
		node := Node{Node: n}
		if text, ok := f.text(nodesDir + "/" + name + "/meminfo"); ok {
			node.TotalKB, node.FreeKB = parseNodeMeminfo(text)
		}
		for _, p := range f.s.Host.Pools {
			dir := fmt.Sprintf("%s/%s/hugepages/hugepages-%dkB/", nodesDir, name, p.PageKB)
			total, ok := f.number(dir + "nr_hugepages")
			if !ok {
				continue
			}
			free, _ := f.number(dir + "free_hugepages")
			surplus, _ := f.number(dir + "surplus_hugepages")
			node.Pools = append(node.Pools, probes.Pool{PageKB: p.PageKB, Total: int(total), Free: int(free), Surplus: int(surplus)})
		}
		out = append(out, node)
	}
	return out
}

// parseNodeMeminfo reads "Node 0 MemTotal:  8000 kB".
func parseNodeMeminfo(text string) (totalKB, freeKB uint64) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != "Node" {
			continue
		}
		n, err := strconv.ParseUint(f[3], 10, 64)
		if err != nil {
			continue
		}
		switch f[2] {
		case "MemTotal:":
			totalKB = n
		case "MemFree:":
			freeKB = n
		}
	}
	return totalKB, freeKB
}

// unevenNodes is from how far apart the nodes' shares are worth a word: a tenth of
// the pool.
const unevenNodes = 10

func checkNodes(s *Snapshot) Check {
	c := Check{
		ID: "pool_nodes", Title: "Huge pages per memory node", Status: OK,
		Expected: "the nodes that have memory hold equal parts of the pool",
		Why: "The kernel spreads a pool evenly, as far as it finds memory. Where one node was too fragmented, the shared " +
			"buffers lie mostly on the other, and half of the CPUs read them from afar.",
		Sources: []string{nodesDir + "/node*/hugepages"},
	}
	var with []Node
	for _, n := range s.Pages.Nodes {
		if n.TotalKB > 0 {
			with = append(with, n)
		}
	}
	if len(with) < 2 {
		c.Status, c.Found = NotHere, "the machine has one memory node"
		return c
	}
	d := s.demand()
	if !d.hasPool || d.pool.Total == 0 {
		c.Status, c.Found = NotHere, fmt.Sprintf("the machine has %d memory nodes and no huge pages to spread", len(with))
		return c
	}
	least, most := -1, 0
	var counts []int
	for _, n := range with {
		total := 0
		for _, p := range n.Pools {
			if p.PageKB == d.pageKB {
				total = p.Total
				c.Found = joined(c.Found, fmt.Sprintf("node %d has %s, %s free (%s of other memory free)", n.Node,
					probes.Plural(p.Total, "page"), number(p.Free), memory(n.FreeKB)))
			}
		}
		counts = append(counts, total)
		most = max(most, total)
		if least < 0 || total < least {
			least = total
		}
	}
	if (most-least)*unevenNodes <= d.pool.Total {
		return c
	}
	c.Status, c.Takes = Warn, TakesRestart
	share, rest := d.pool.Persistent()/len(with), d.pool.Persistent()%len(with)
	for i, n := range with {
		file := fmt.Sprintf("%s/node%d/hugepages/hugepages-%dkB/nr_hugepages", nodesDir, n.Node, d.pageKB)
		to := share
		if i < rest {
			to++
		}
		c.Fix = append(c.Fix, fmt.Sprintf("echo %d > %s", to, file))
		c.Undo = append(c.Undo, fmt.Sprintf("echo %d > %s", counts[i], file))
	}
	c.Fix = append(c.Fix, fmt.Sprintf("cat %s   # must print %d", poolFile(d.pageKB), d.pool.Persistent()))
	c.Fix = append(c.Fix, restartServer(s)...)
	return c
}
