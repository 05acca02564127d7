package probes

import (
	"cmp"
	"slices"
	"strings"
)

// Near are the words that are likest to one that is none of them, the likest first,
// at most as many as asked for.
func Near(word string, known []string, most int) []string {
	words := slices.Clone(known)
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(distance(word, a), distance(word, b)) })
	return words[:min(most, len(words))]
}

// Meant is the word that was likely meant by one that is none of them; empty where none
// is near enough.
func Meant(word string, known []string) string {
	near := Near(word, known, 1)
	if len(near) == 0 || distance(word, near[0]) > max(1, min(3, len(word)/4)) {
		return ""
	}
	return near[0]
}

// leastPart is how long a part of a word must be to tell which is meant.
const leastPart = 4

// distance is the number of characters to insert, remove or change (Levenshtein); one
// word within the other counts as one.
func distance(a, b string) int {
	if a == "" || b == "" {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	if d := row[len(b)]; d < 1 || min(len(a), len(b)) < leastPart || !strings.Contains(a, b) && !strings.Contains(b, a) {
		return d
	}
	return 1
}
