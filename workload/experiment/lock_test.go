package experiment

import (
	"errors"
	"testing"
)

// An experiment is under way while its journal is locked, and not after a crash.
func TestUnderWay(t *testing.T) {
	j, dir := create(t, plan(1, "a", "b"))
	under, known := again(t, dir).UnderWay()
	if !known {
		t.Skip("need: locks of files")
	}
	if !under {
		t.Error("it is not seen")
	}
	if err := j.Release(); err != nil { // as a crash does
		t.Fatal(err)
	}
	if under, _ := again(t, dir).UnderWay(); under {
		t.Error("it is still seen")
	}
	more := again(t, dir)
	if err := errors.Join(more.GoOn(), more.GoOn()); err != nil {
		t.Error(err)
	}
	if under, _ := again(t, dir).UnderWay(); !under {
		t.Error("gone on with, it is not seen")
	}
	if err := errors.Join(more.Release(), more.Release()); err != nil {
		t.Error(err)
	}
}
