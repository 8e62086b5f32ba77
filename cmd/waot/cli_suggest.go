package main

import "strings"

// suggestion returns " (did you mean ...?)" for a misspelt word, or nothing if no candidate is near. prefix stands before the candidate.
func suggestion(word, prefix string, candidates []string) string {
	best, least := "", len(word)/3+1 // more than a third of its letters wrong is another word
	for _, c := range candidates {
		if d := distance(word, c); d <= least && len(c) > 1 && (best == "" || d < least) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + prefix + best + "?)"
}

// distance returns how many letters must be inserted, deleted, replaced, or exchanged with the next to make b of a: the distance of Damerau and
// Levenshtein, with each place edited once.
func distance(a, b string) int {
	const many = 64 // longer words are not misspelt flags
	if len(a) > many || len(b) > many {
		return many
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

// usageHint explains the parser's messages about values that are often written in another way.
func usageHint(msg string) string {
	if strings.Contains(msg, "for flag -timeout:") {
		return "; a time has a unit, as in 5s, 500ms or 1m30s"
	}
	return ""
}
