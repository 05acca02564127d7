package probes

import (
	"strings"
	"testing"
)

func TestCostOfConnection(t *testing.T) {
	server := &ServerInfo{Version: "17.2", VersionNum: 170002, SharedMemoryKB: 40 << 20, MaxConnections: 700}
	rows := []BackendRow{row(1, RolePostmaster, 300, 9000), row(2, RoleClient, 1000, 3000), row(3, RoleClient, 5000, 4000),
		row(4, RoleClient, 2000, 50_000), {Backend: Backend{Pid: 5, Role: RoleClient}}}
	c := CostOfConnection(ClientMemory(rows), "", server)
	if c.Clients != 3 || c.Private.V != 4000 || c.PageTables.V != 2000 || c.Now.V != 6020 || c.AtMax.V != 700*6020 {
		t.Errorf("%+v", c)
	}
	if len(c.Sizes) != 3 {
		t.Fatalf("%+v", c.Sizes)
	}
	small, huge, giant := c.Sizes[0], c.Sizes[1], c.Sizes[2]
	// 8 bytes for each page of 40 GB are 80 MB; FACTS: 700 of them 54.7 GiB.
	if kb := small.PageTables.V - 80<<10; kb < 0 || kb > 1024 || small.AtMax.V < 54.7*(1<<20) {
		t.Errorf("4 kB: %+v", small)
	}
	if huge.PageKB != 2048 || huge.PageTables.V > 512 || giant.PageTables.V > huge.PageTables.V || huge.Total.V != 4000+huge.PageTables.V+20 {
		t.Errorf("2 MB %+v, 1 GB %+v", huge, giant)
	}
}

func TestCostOfConnectionSaysWhyNot(t *testing.T) {
	c := CostOfConnection(nil, "SQL only: elsewhere", &ServerInfo{Version: "17.2", VersionNum: 170002, SharedMemoryKB: 1 << 20, MaxConnections: 100})
	if c.Now.OK() || c.AtMax.Missing != "SQL only: elsewhere" || c.Sizes[0].Total.OK() || !c.Sizes[0].PageTables.OK() {
		t.Errorf("%+v", c)
	}
	c = CostOfConnection([]BackendMem{{Private: 1000, PageTables: 500}}, "", &ServerInfo{Version: "13.22", VersionNum: 130022})
	if c.Now.V != 1520 || !strings.Contains(c.AtMax.Missing, "max_connections") || !strings.Contains(c.Sizes[1].AtMax.Missing, "PostgreSQL 15") {
		t.Errorf("%+v", c)
	}
}
