package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The lab's directory belongs to the server's account, and pgtlb writes into it as root. An os.Root keeps every path
// inside, so a link that somebody with that account plants leads nowhere.

// replaceIn writes a file in one step, mode 0600: a reader sees the old text or the new one.
func replaceIn(root *os.Root, name string, b []byte, a *account) error {
	tmp := name + ".new"
	if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && a != nil {
		err = f.Chown(int(a.UID), int(a.GID))
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return nil
}

// replaceFile is replaceIn for a file in a folder of our own.
func replaceFile(path string, b []byte) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return replaceIn(root, filepath.Base(path), b, nil)
}

// writeFor writes a file that belongs to the server's account; name is relative to the lab's directory.
func (c *Cluster) writeFor(name string, b []byte) error {
	if err := replaceIn(c.root, name, b, c.account); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Join(c.dir, name), err)
	}
	return nil
}

// mkdirFor makes a folder that belongs to the server's account, unless it is there.
func (c *Cluster) mkdirFor(name string) error {
	if err := c.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making %s: %w", filepath.Join(c.dir, name), err)
	}
	if c.account == nil {
		return nil
	}
	return c.root.Lchown(name, int(c.account.UID), int(c.account.GID))
}

// writeMarker writes the marker, which stays ours.
func (c *Cluster) writeMarker() error {
	b, err := encodeJSON(c.mark)
	if err == nil {
		err = replaceIn(c.root, markerName, b, nil)
	}
	if err != nil {
		return fmt.Errorf("writing the lab's marker: %w", err)
	}
	return nil
}
