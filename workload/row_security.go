package workload

import (
	"fmt"
)

// RowSecurity is a point select under policies.
func RowSecurity() Scenario {
	return Scenario{
		Name:    "row-security",
		Version: 1,
		Summary: "reads one row by a random id as a role whose rows are limited by policies",
		Shows: "What row level security costs: the server adds each policy to the query as a condition, here a look into a table of " +
			"grants for every row found, and must check it before conditions of the user that might leak. Start it with policies 0 (the same select by the same role " +
			"without row security) and with 1 to 8 and compare TPS: the difference per policy is its price. One row in a hundred is hidden.",
		Clients: 8,
		Params: []Param{
			{Name: "policies", Default: 1, Min: 0, Max: 8, Meaning: "policies on the table, all of which must let a row pass; 0: row security is off"},
			{Name: "documents", Default: 100_000, Min: 1, Max: 10_000_000, Meaning: "rows of the table"},
			seedParam(),
		},
		Data: func(v Values) []Data {
			return []Data{rowSecurityTables(v["documents"], v["policies"], v["data_seed"])}
		},
		Work: func(Values) (Work, error) {
			w := oneScript("row-security", rowSecurityScript)
			w.Session = append(w.Session, "SET ROLE "+readerRole)
			return w, nil
		},
	}
}

const rowSecurityScript = "\\set id random(1, :documents)\nSELECT * FROM row_security_document WHERE id = :id;\n"

const (
	tenants      = 100
	hiddenTenant = 100 // its documents are granted to nobody
)

// rowSecurityTables are read only. The fingerprint also stands for the policies
// and the role's right to read.
func rowSecurityTables(documents, policies, seed int64) ownTables {
	const document, grants = Schema + ".row_security_document", Schema + ".row_security_grant"
	readable := "GRANT USAGE ON SCHEMA " + Schema + " TO " + readerRole + "; GRANT SELECT ON " + document + ", " + grants + " TO " + readerRole
	after := []string{"ALTER TABLE " + document + " ADD PRIMARY KEY (id)", readable}
	if policies > 0 {
		after = append(after, "ALTER TABLE "+document+" ENABLE ROW LEVEL SECURITY")
	}
	for area := range policies {
		// A row passes if one permissive policy and every restrictive one lets it.
		kind := "RESTRICTIVE"
		if area == 0 {
			kind = "PERMISSIVE"
		}
		after = append(after, fmt.Sprintf(`CREATE POLICY area_%[1]d ON %[2]s AS %[3]s FOR SELECT TO %[4]s
			USING (EXISTS (SELECT FROM %[5]s g WHERE g.area = %[1]d AND g.tenant = row_security_document.tenant))`,
			area+1, document, kind, readerRole, grants))
	}
	const readOnly = " WITH (autovacuum_enabled = false)"
	return ownTables{
		scenario: "row-security", definition: 1,
		params: fmt.Sprintf("documents %d, policies %d, seed %d", documents, policies, seed),
		before: ensureReader, role: readerRole,
		tables: []ownTable{
			{
				name: "row_security_grant", create: "(area bigint, tenant bigint)" + readOnly,
				rows: 8 * tenants, row: fmt.Sprintf("(i - 1) / %[1]d + 1, (i - 1) %% %[1]d + 1", tenants),
				after: []string{
					fmt.Sprintf("DELETE FROM %s WHERE tenant = %d", grants, hiddenTenant),
					"ALTER TABLE " + grants + " ADD PRIMARY KEY (area, tenant)",
				},
				rowSize: 80,
			},
			{
				name: "row_security_document", create: "(id bigint, tenant bigint NOT NULL, amount bigint NOT NULL, note text NOT NULL)" + readOnly,
				rows: documents, row: fmt.Sprintf("i, %s, %s, 'document ' || i", random1(tenants, seed, 1), random1(1_000_000, seed, 2)),
				after: after, rowSize: 100,
			},
		},
		check: `concat_ws(' ', (SELECT sum(hashtextextended(t::text, 0)) FROM ` + document + ` t),
			(SELECT sum(hashtextextended(t::text, 0)) FROM ` + grants + ` t),
			(SELECT string_agg(polname || ' ' || pg_get_expr(polqual, polrelid), ', ' ORDER BY polname) FROM pg_policy WHERE polrelid = '` + document + `'::regclass),
			(SELECT relrowsecurity FROM pg_class WHERE oid = '` + document + `'::regclass),
			has_schema_privilege('` + readerRole + `', '` + Schema + `', 'USAGE'),
			has_table_privilege('` + readerRole + `', '` + document + `', 'SELECT'), has_table_privilege('` + readerRole + `', '` + grants + `', 'SELECT'))`,
	}
}
