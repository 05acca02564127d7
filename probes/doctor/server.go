package doctor

func serverChecks() []func(*Snapshot) Check { return nil }
