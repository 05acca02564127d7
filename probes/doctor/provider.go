package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// provider is who runs a managed server.
type provider struct {
	Name string
	// Marks are what it was recognised by.
	Marks []string
	// HugePages says what is known of huge pages there, from its documentation.
	HugePages string
	// Restart is the command that restarts the server.
	Restart string
	// set are the lines that set a setting. A number is in the unit of pg_settings:
	// parameter groups take no "16GB".
	set func(name, value string) []string
}

// providerOf recognises a managed server by the roles and settings that only its
// provider has.
func providerOf(s *Snapshot) (provider, bool) {
	if s.Server == nil {
		return provider{}, false
	}
	m := s.Server.Exam.Marks
	for _, p := range providers() {
		var marks []string
		for _, r := range m.Roles {
			if slices.Contains(p.roles, r) {
				marks = append(marks, "the role "+r)
			}
		}
		for _, prefix := range m.Prefixes {
			if slices.Contains(p.prefixes, prefix) {
				marks = append(marks, "settings "+prefix+".*")
			}
		}
		if p.aurora && !m.Aurora {
			continue
		}
		if p.aurora {
			marks = append(marks, "the function aurora_version")
		}
		if len(marks) > 0 {
			p.Marks = marks
			return p.provider, true
		}
	}
	return provider{}, false
}

// mark is a provider with what it is recognised by.
type mark struct {
	provider
	roles, prefixes []string
	aurora          bool
}

// providers are those that are recognised, the more particular first.
func providers() []mark {
	aws := func(group, verb string) func(string, string) []string {
		return func(name, value string) []string {
			return []string{fmt.Sprintf(`aws rds %s %s "$PARAMETER_GROUP" --parameters 'ParameterName=%s,ParameterValue=%s,ApplyMethod=pending-reboot'`, verb, group, name, value)}
		}
	}
	byHand := func(where string) func(string, string) []string {
		return func(name, value string) []string {
			return []string{fmt.Sprintf("# in %s: %s = %s", where, name, value)}
		}
	}
	return []mark{
		{provider: provider{Name: "Amazon Aurora",
			HugePages: "the provider sets memory and pages; whether huge_pages may be changed is in the cluster parameter group",
			Restart:   `aws rds reboot-db-instance --db-instance-identifier "$DB_INSTANCE"`,
			set:       aws("--db-cluster-parameter-group-name", "modify-db-cluster-parameter-group")},
			roles: []string{"rds_superuser", "rdsadmin"}, prefixes: []string{"rds"}, aurora: true},
		{provider: provider{Name: "Amazon RDS",
			HugePages: "by its documentation huge_pages is a parameter of the parameter group, on by default but for the micro, small and medium classes; the provider sizes the pool, and an instance that does not fit does not start (state incompatible-parameters)",
			Restart:   `aws rds reboot-db-instance --db-instance-identifier "$DB_INSTANCE"`,
			set:       aws("--db-parameter-group-name", "modify-db-parameter-group")},
			roles: []string{"rds_superuser", "rdsadmin"}, prefixes: []string{"rds"}},
		{provider: provider{Name: "Azure Database for PostgreSQL",
			HugePages: "by its documentation huge_pages is a server parameter, try by default, without effect on servers with fewer than 4 vCores; the provider sizes the pool",
			Restart:   `az postgres flexible-server restart --resource-group "$GROUP" --name "$SERVER"`,
			set: func(name, value string) []string {
				return []string{fmt.Sprintf(`az postgres flexible-server parameter set --resource-group "$GROUP" --server-name "$SERVER" --name %s --value %s`, name, quote(value))}
			}},
			roles: []string{"azure_pg_admin"}, prefixes: []string{"azure"}},
		{provider: provider{Name: "Google AlloyDB",
			HugePages: "the provider sets memory and pages; what may be changed is in its list of database flags",
			Restart:   `gcloud alloydb instances restart "$INSTANCE" --cluster "$CLUSTER" --region "$REGION"`,
			set:       byHand("the instance's database flags")},
			roles: []string{"alloydbsuperuser"}, prefixes: []string{"alloydb"}},
		{provider: provider{Name: "Google Cloud SQL",
			HugePages: "the provider sets memory and pages; what may be changed is in its list of database flags",
			Restart:   `gcloud sql instances restart "$INSTANCE"`,
			set:       byHand("the instance's database flags (gcloud sql instances patch replaces all flags: give every one)")},
			roles: []string{"cloudsqlsuperuser", "cloudsqladmin"}, prefixes: []string{"cloudsql"}},
		other("Neon", []string{"neon_superuser"}, []string{"neon"}, byHand),
		other("Supabase", []string{"supabase_admin"}, nil, byHand),
		other("Aiven", []string{"avnadmin"}, nil, byHand),
		other("DigitalOcean Managed Databases", []string{"doadmin"}, nil, byHand),
	}
}

// other is a provider of which no more is known than that it runs the server.
func other(name string, roles, prefixes []string, byHand func(string) func(string, string) []string) mark {
	return mark{provider: provider{Name: name, HugePages: "the provider sets memory and pages", Restart: "# restart it in " + name + "'s console", set: byHand(name + "'s console")},
		roles: roles, prefixes: prefixes}
}

// checkProvider is "provider": who runs the server, and what that means here.
func checkProvider(s *Snapshot) Check {
	c := Check{ID: "provider", Title: "Managed server",
		Sources: []string{"pg_roles, names in pg_settings, pg_proc: what only a provider's server has", "version()"},
		Why:     "A provider's server has no sysctl, no unit and no pool of yours: what can be changed is changed in the provider's own way, the rest is its business."}
	if noServer(s, &c) {
		return c
	}
	p, ok := providerOf(s)
	if !ok {
		c.Status, c.Found = NotHere, "nothing of a provider's in the server: "+s.Server.Exam.VersionText
		return c
	}
	pages, ok := s.Server.Exam.Setting("huge_pages")
	c.Status = OK
	c.Found = fmt.Sprintf("%s, by %s", p.Name, strings.Join(p.Marks, ", "))
	if !ok {
		c.Found += "; " + p.HugePages
		return c
	}
	c.Found += fmt.Sprintf("; huge_pages is %s: %s", pages.Value, p.HugePages)
	status, ok := s.Server.Exam.Setting("huge_pages_status")
	if ok {
		c.Found += "; huge_pages_status is " + status.Value
	}
	if pages.Value == "off" || ok && status.Value == "off" {
		c.Status, c.Expected = Warn, "huge_pages on, on a class with memory for it"
		c.Fix = append(p.set("huge_pages", "on"), p.Restart)
		c.Undo = append(p.set("huge_pages", pages.Value), p.Restart)
		c.Takes, c.UndoFirst = TakesRestart, true
	}
	return c
}
