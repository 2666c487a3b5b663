package conformance

// familyNames say what the scenarios of a letter are about.
var familyNames = map[string]string{
	"P": "protocol shape",
	"L": "last stable offset",
	"A": "aborted transactions",
	"M": "markers",
	"F": "fencing and idempotence",
	"T": "timeout",
	"V": "transactions v2 (KIP-890)",
	"O": "transactional offsets",
	"S": "storage",
	"R": "leaders and restarts",
	"D": "describing transactions",
	"C": "clients",
	"X": "random histories",
}

// FamilyName says what the scenarios of a family are about.
func FamilyName(letter string) string { return familyNames[letter] }
