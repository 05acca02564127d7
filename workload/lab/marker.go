package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A lab's directory:
//
//	pgtlb-lab-XXXX/           0700, the server's account
//	  pgtlb-lab.json          the marker: without it nothing of the directory is ever removed
//	  data/                   the cluster
//	  probe/                  a stand-in for data to ask a running server's programs about other settings
//	  server.log              what the server writes to stderr
//	  .s.PGSQL.5432           the socket
const (
	dirPrefix  = "pgtlb-lab-"
	markerName = "pgtlb-lab.json"
	markerWhat = "pgtlb lab"
	logName    = "server.log"
)

// marker says whose a lab directory is. It is written before anything else is put there.
type marker struct {
	What       string   `json:"what"`
	Owner      Process  `json:"owner"` // the pgtlb that made it
	Postmaster *Process `json:"postmaster,omitempty"`
	Keep       bool     `json:"keep"`
	Account    int      `json:"account_uid"` // the uid the server runs under
	Residue    residue  `json:"residue"`
}

// readMarker reads the marker of a directory, if pgtlb of this very user wrote it: the marker of somebody else could name
// processes and directories that are not his to end.
func readMarker(dir string, euid int) (marker, error) {
	path := filepath.Join(dir, markerName)
	fi, err := os.Lstat(path)
	if err != nil {
		return marker{}, err
	}
	uid, _, ok := ownerOf(fi)
	if !fi.Mode().IsRegular() || !ok || uid != euid {
		return marker{}, errors.New("the marker is not ours")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return marker{}, err
	}
	var m marker
	if err := json.Unmarshal(b, &m); err != nil {
		return marker{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if m.What != markerWhat {
		return marker{}, fmt.Errorf("reading %s: it is not a lab's marker", path)
	}
	return m, nil
}

// removeDir removes a lab directory, only if it is one.
func removeDir(dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		return fmt.Errorf("removing %s: it is not a lab's directory", dir)
	}
	if _, err := readMarker(dir, os.Geteuid()); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			if _, gone := os.Lstat(dir); errors.Is(gone, fs.ErrNotExist) {
				return nil
			}
		}
		return fmt.Errorf("removing %s: %w; it stays", dir, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the lab's directory: %w", err)
	}
	return nil
}
