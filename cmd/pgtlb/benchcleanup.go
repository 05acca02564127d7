package main

import (
	"context"
	"errors"
)

func (a *app) benchCleanup(ctx context.Context, b *benchFlags, args []string) error {
	return errors.New("not yet")
}
