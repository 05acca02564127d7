package lab

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"pgtlb/probes"
)

// ErrFixed says why a setting cannot be given a value at all.
var ErrFixed = errors.New("it is fixed when the server is built or its data directory is made")

// understood asks the server's own program how it understands one setting among those of a lab: "16384" for 128MB of
// shared_buffers. The error says in one sentence which setting it does not take, and why.
func (c *Cluster) understood(ctx context.Context, l layers, name string) (string, error) {
	out, err := c.ask(ctx, l, name)
	if refused := (*StartError)(nil); errors.As(err, &refused) {
		return "", c.explainRefusal(ctx, refused)
	}
	return out, err
}

var (
	unknownSetting = regexp.MustCompile(`unrecognized configuration parameter "([^"]*)"`)
	fixedSetting   = regexp.MustCompile(`parameter "([^"]*)" cannot be changed`)
)

// explainRefusal says why the server's program did not take its settings, in its own words where these are enough.
func (c *Cluster) explainRefusal(ctx context.Context, refused *StartError) error {
	text := strings.Join(refused.Log, "\n")
	if m := unknownSetting.FindStringSubmatch(text); m != nil {
		meant := ""
		if near := probes.Meant(m[1], c.settingNames(ctx)); near != "" {
			meant = "; did you mean " + near + "?"
		}
		return fmt.Errorf("unrecognized configuration parameter %q: PostgreSQL %s has no setting of that name%s", m[1], c.server.Version, meant)
	}
	if m := fixedSetting.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s cannot be set: %w", m[1], ErrFixed)
	}
	why := reasons(refused.Log)
	if len(why) == 0 { // it said nothing, as where it was killed
		return refused
	}
	return errors.New(strings.Join(why, "; "))
}

// settingNames are the settings that the server's program says it has; none where it does not say.
func (c *Cluster) settingNames(ctx context.Context) []string {
	out, err := run(ctx, command{path: c.server.program("postgres"), args: []string{"--describe-config"}, env: serverEnv(c.dir), dir: "/", account: c.account})
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(out) {
		if name, _, ok := strings.Cut(line, "\t"); ok {
			names = append(names, name)
		}
	}
	return names
}
