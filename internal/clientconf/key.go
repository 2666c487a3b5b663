package clientconf

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"hash"
)

// convertKey is the advice for a key in a form that is not read.
const convertKey = "convert it: openssl pkcs8 -topk8 -v2 aes256 -in KEY -out KEY.pem"

// parseKey reads a private key from its PEM block.
func parseKey(block *pem.Block, password string) (any, *storeError) {
	if block.Headers["Proc-Type"] != "" {
		return nil, &storeError{text: "the key is encrypted in OpenSSL's old way, which does not protect it", hint: convertKey}
	}
	der := block.Bytes
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		if password == "" {
			return nil, &storeError{text: "the key is encrypted", hint: "set " + keyPassword}
		}
		var problem *storeError
		if der, problem = decryptKey(der, password); problem != nil {
			return nil, problem
		}
	}
	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
		func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
	} {
		if key, err := parse(der); err == nil {
			return key, nil
		}
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		return nil, wrongKeyPassword()
	}
	return nil, &storeError{text: "the key is damaged, or of a type that is not known"}
}

func wrongKeyPassword() *storeError {
	return &storeError{text: keyPassword + " does not decrypt the key"}
}

// The parts of PKCS#8's EncryptedPrivateKeyInfo under PBES2 (RFC 5958, RFC 8018).
type (
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	pbes2Parameters struct {
		Derivation, Encryption pkix.AlgorithmIdentifier
	}
	pbkdf2Parameters struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

// maxIterations bounds the work that a key file may ask for: a few seconds.
const maxIterations = 10_000_000

// Object identifiers as RFC 8018 has them.
const (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"
)

var keyHashes = map[string]func() hash.Hash{
	"":                    sha1.New, // the default
	"1.2.840.113549.2.7":  sha1.New,
	"1.2.840.113549.2.9":  sha256.New,
	"1.2.840.113549.2.10": sha512.New384,
	"1.2.840.113549.2.11": sha512.New,
}

// keyCipher is a block cipher in CBC mode.
type keyCipher struct {
	keySize int
	block   func(key []byte) (cipher.Block, error)
}

var keyCiphers = map[string]keyCipher{
	"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
	"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
	"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
}

// keyScheme is how a key is encrypted.
type keyScheme struct {
	hash       func() hash.Hash
	salt       []byte
	iterations int
	cipher     keyCipher
	iv, data   []byte
}

// parseScheme reads what OpenSSL and Java write: PBES2 with PBKDF2 and AES or
// triple DES. It reports false for anything else.
func parseScheme(der []byte) (s keyScheme, ok bool) {
	var info encryptedKey
	var scheme pbes2Parameters
	var derivation pbkdf2Parameters
	if !decodeAll(der, &info) || info.Algorithm.Algorithm.String() != oidPBES2 ||
		!decodeAll(info.Algorithm.Parameters.FullBytes, &scheme) || scheme.Derivation.Algorithm.String() != oidPBKDF2 ||
		!decodeAll(scheme.Derivation.Parameters.FullBytes, &derivation) ||
		!decodeAll(scheme.Encryption.Parameters.FullBytes, &s.iv) {
		return s, false
	}
	s.hash, s.cipher = keyHashes[derivation.PRF.Algorithm.String()], keyCiphers[scheme.Encryption.Algorithm.String()]
	s.salt, s.iterations, s.data = derivation.Salt, derivation.Iterations, info.Data
	return s, s.hash != nil && s.cipher.block != nil && s.iterations >= 1 && s.iterations <= maxIterations
}

// decryptKey decrypts a key. The result may still be none: a wrong password can
// give padding that looks right.
func decryptKey(der []byte, password string) ([]byte, *storeError) {
	s, ok := parseScheme(der)
	if !ok {
		return nil, unsupportedKey()
	}
	derived, err := pbkdf2.Key(s.hash, password, s.salt, s.iterations, s.cipher.keySize)
	if err != nil {
		return nil, unsupportedKey()
	}
	block, err := s.cipher.block(derived)
	if err != nil || len(s.iv) != block.BlockSize() || len(s.data) == 0 || len(s.data)%block.BlockSize() != 0 {
		return nil, &storeError{text: "the key is damaged"}
	}
	plain := make([]byte, len(s.data))
	cipher.NewCBCDecrypter(block, s.iv).CryptBlocks(plain, s.data)
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > block.BlockSize() {
		return nil, wrongKeyPassword()
	}
	return plain[:len(plain)-pad], nil
}

func unsupportedKey() *storeError {
	return &storeError{text: "the key is encrypted in a way that is not supported", hint: convertKey}
}

// decodeAll decodes ASN.1 that nothing follows.
func decodeAll(der []byte, into any) bool {
	rest, err := asn1.Unmarshal(der, into)
	return err == nil && len(rest) == 0
}
