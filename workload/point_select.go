package workload

// PointSelect reads single rows by primary key, all over the table.
func PointSelect() Scenario {
	return Scenario{
		Name:    "point-select",
		Version: 2,
		Summary: "reads one row by its id, a random one each time",
		Shows: "Every transaction touches a few random blocks of shared buffers. With 4 kB pages each backend fills its own page " +
			"table entry by entry (page faults, page tables up to 1/512 of shared memory for each backend) and nearly every block " +
			"needs a page walk; with huge pages one entry covers 2 MB or 1 GB.",
		Clients: 8,
		Params:  datasetParams(1, maxRows),
		Data:    dataset,
		Work: func(Values) (Work, error) {
			return oneScript("point-select", pointSelectScript), nil
		},
	}
}

const pointSelectScript = "\\set id random(1, :rows)\nSELECT * FROM test_hp_table WHERE id = :id;\n"
