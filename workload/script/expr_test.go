package script

import (
	"errors"
	"strings"
	"testing"
)

// TestExpressions are known answers, taken from the documentation of pgbench, from arithmetic, and the hash and permute
// values from PostgreSQL's own tests.
func TestExpressions(t *testing.T) {
	defines := []string{"foo=-10.1", "bla=false", "i=+3", "n=null", "t=t", "f=of", "d=1.0", "ye=ye", "inf=inf", "hex=0x10", "sp= 7"}
	for _, c := range []struct{ expr, want string }{
		{"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"7 - 2 - 1", "4"}, {"64 / 4 / 2", "8"}, {"7 % 4", "3"}, {"-7 % 4", "-3"}, {"-7 / 2", "-3"},
		{"3 % -1", "0"}, {"-9223372036854775808 % -1", "0"}, {"7 / -1", "-7"}, {"7 / 2.0", "3.5"}, {"1 / 0.0", "Infinity"}, {"-1.0 / 0", "-Infinity"},
		{"0 / 0.0", "NaN"}, {"7.6 % 4.4", "0"}, {"-9223372036854775808", "-9223372036854775808"}, {"- -5", "5"}, {"+5", "5"}, {"-(2.5)", "-2.5"},
		{"9223372036854775807 + 0.0", "9.22337203685478e+18"}, {"1e3", "1000"}, {".5e1", "5"}, {"1.", "1"}, {"-0.0", "0"}, {"0 * -1.0", "-0"},
		{"1e15", "1e+15"}, {"123456789012345.0", "123456789012345"}, {"0.0001", "0.0001"}, {"0.00001", "1e-05"}, {"1/3.0", "0.333333333333333"},
		{"5 & 3", "1"}, {"5 | 3", "7"}, {"5 # 3", "6"}, {"~5", "-6"}, {"~ 1 + 1", "-3"}, {"1 << 4", "16"}, {"-16 >> 2", "-4"}, {"1 << 64", "1"}, {"1 << -1", "-9223372036854775808"},
		{"1 | 2 + 4", "7"}, {"2 & 3 | 4", "6"}, {"4 | 2 & 1", "0"}, {"1 << 2 + 1", "8"},
		{"1 < 2", "true"}, {"2 <= 1", "false"}, {"2 > 1", "true"}, {"1 >= 1.0", "true"}, {"1 = 1.0", "true"}, {"1 <> 1", "false"}, {"1 != 2", "true"}, {"0/0.0 = 0/0.0", "false"},
		{"1 + 1 = 2 and 3 > 2", "true"}, {"true or false and false", "true"}, {"not false or true", "true"},
		{"null and false", "NULL"}, {"false and null", "false"}, {"null or true", "NULL"}, {"true or null", "true"}, {"true and null", "NULL"},
		{"not null", "NULL"}, {"NULL + 1", "NULL"}, {"abs(null)", "NULL"}, {"greatest(1, null)", "NULL"},
		{"null is null", "true"}, {"1 is null", "false"}, {"1 is not null", "true"}, {"null isnull", "true"}, {"null notnull", "false"}, {"true is true", "true"},
		{"1 is true", "false"}, {"null is not false", "true"}, {"1 = 2 is null", "false"}, {"not null is null", "false"}, {"null is null is true", "true"},
		{"case when 1 > 2 then 3 end", "NULL"}, {"case when 0 then 1 when 2.0 then 5 else 6 end", "5"}, {"case when null then 1 else 2 end", "2"},
		{"case when true then 1 else 1/0 end", "1"}, {"false and 1/0 = 1", "false"}, {"true or 1/0 = 1", "true"},
		{"abs(-17)", "17"}, {"abs(-17.5)", "17.5"}, {"abs(-9223372036854775808)", "-9223372036854775808"},
		{"double(5432)", "5432"}, {"double(5432) / 5", "1086.4"}, {"exp(1.0)", "2.71828182845905"}, {"greatest(5, 4, 3, 2)", "5"}, {"greatest(5, 4.5)", "5"}, {"least(5, 4, 3, 2.1)", "2.1"},
		{"least(,1)", "1"}, {"int(5.4 + 3.8)", "9"}, {"int(2.5)", "2"}, {"int(3.5)", "4"}, {"int(-2.5)", "-2"}, {"ln(2.718281828459045)", "1"}, {"mod(54, 32)", "22"},
		{"pi()", "3.14159265358979"}, {"pow(2.0, 10)", "1024"}, {"power(2, 10)", "1024"}, {"pow(-2, -3)", "-0.125"}, {"pow(0, 0)", "1"}, {"pow(9223372036854775807, 2)", "8.50705917302346e+37"}, {"pow(10, 30)", "1e+30"},
		{"sqrt(2.0)", "1.4142135623731"}, {"sqrt(-1)", "NaN"}, {"ln(0)", "-Infinity"}, {"ln(-1)", "NaN"},
		{"hash(10, 5432)", "-5817877081768721676"}, {"hash_murmur2(10, 5432)", "-5817877081768721676"}, {"hash_fnv1a(10, 5432)", "-7793829335365542153"},
		{"hash(10) = hash(10, :default_seed)", "true"}, {"permute(5, 10) = permute(5, 10, :default_seed)", "true"},
		{"permute(0, 2, 5431)", "0"}, {"permute(1, 2, 5431)", "1"}, {"permute(0, 2, 5433)", "1"}, {"permute(1, 2, 5433)", "0"}, {"permute(99, 1)", "0"},
		{"permute(9223372036854775796, 9223372036854775797, 5432)", "520382784483822430"},
		{"permute(9223372036854775790, 9223372036854775797, 5432)", "4542876852200565125"},
		{"permute(0,5) + permute(1,5) + permute(2,5) + permute(3,5) + permute(4,5)", "10"}, {"permute(-1, 5) >= 0", "true"},
		{":foo", "-10.1"}, {":foo * 2", "-20.2"}, {":bla or :t", "true"}, {":f", "false"}, {"not :f", "true"}, {":i + 1", "4"}, {":i", "3"}, {":n is null", "true"}, {":d", "1"},
		{":ye and true", "true"}, {":inf", "Infinity"}, {":hex + 1", "17"}, {":sp + 1", "8"}, {":scale", "1"}, {":client_id", "0"}, {":random_seed", "42"},
		{"TRUE Or FALSE", "true"}, {"Ln(Exp(1.0))", "1"}, {"NULL Is NuLL", "true"},
	} {
		got, err := evaluate(t, c.expr, defines...)
		if err != nil || got.String() != c.want {
			t.Errorf("%s = %s (%v), want %s", c.expr, got, err, c.want)
		}
	}
}

// TestExpressionErrors are the errors of a run, with pgbench's messages.
func TestExpressionErrors(t *testing.T) {
	for _, c := range []struct {
		expr, want string
		column     int
	}{
		{"1 / 0", "division by zero", 10}, {"1 % 0", "division by zero", 10}, {"mod(1, 0)", "division by zero", 8},
		{"9223372036854775807 + 1", "bigint add out of range", 28}, {"-9223372036854775808 - 1", "bigint sub out of range", 29},
		{"9223372036854775807 * 2", "bigint mul out of range", 28}, {"-9223372036854775808 / -1", "bigint div out of range", 29}, {"- -9223372036854775808", "bigint sub out of range", 8},
		{"int(1e19)", "double to int overflow for 10000000000000000000.000000", 8}, {"1 | 0/0.0", "double to int overflow for NaN", 10},
		{"9223372036854775807.0 % 5", "double to int overflow for 9223372036854775808.000000", 30},
		{"true + 1", "cannot coerce boolean to int", 13}, {"true + 1.0", "cannot coerce boolean to double", 13}, {"1 and true", "cannot coerce int to boolean", 10},
		{"not true = false", "cannot coerce boolean to int", 17},
		{"true and 1.5", "cannot coerce double to boolean", 13}, {"not 1", "cannot coerce int to boolean", 8}, {"abs(true)", "cannot coerce boolean to double", 8},
		{"sqrt(true)", "cannot coerce boolean to double", 8}, {"least(1, true)", "cannot coerce boolean to int", 8},
		{"least(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", "too many function arguments, maximum is 16", 8},
		{"random(2, 1)", "empty range given to random", 8}, {"random(-1, 9223372036854775807)", "random range is too large", 8}, {"random(0, 9223372036854775807)", "random range is too large", 8},
		{"random_gaussian(1, 2, 1.9)", "gaussian parameter must be at least 2.000000 (not 1.900000)", 8},
		{"random_exponential(1, 2, 0)", "exponential parameter must be greater than zero (not 0.000000)", 8},
		{"random_zipfian(1, 2, 1)", "zipfian parameter must be in range [1.001, 1000] (not 1.000000)", 8},
		{"random_zipfian(1, 2, 1000.1)", "zipfian parameter must be in range [1.001, 1000] (not 1000.100000)", 8},
		{"permute(1, 0)", "permute size parameter must be greater than zero", 8},
		{":nope", `undefined variable "nope"`, 8}, {":bad", `malformed variable "bad" value: "12x"`, 8}, {":big", `value "9223372036854775808" is out of range for type bigint`, 8},
		{":minus", `invalid input syntax for type bigint: "-"`, 8}, {":tiny", `malformed variable "tiny" value: "1e-320"`, 8},
	} {
		_, err := evaluate(t, c.expr, "bad=12x", "big=9223372036854775808", "minus=-", "tiny=1e-320")
		var e *Error
		if !errors.As(err, &e) || e.Message != c.want || e.Column != c.column || e.Line != 1 || e.Command != "set" {
			t.Errorf("%s: %v, want %s at column %d", c.expr, err, c.want, c.column)
		}
	}
}

// TestDeepExpressions: what nests or chains without bound is refused, what is only long is not.
func TestDeepExpressions(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000), "nests too deep"},
		{strings.Repeat("-", 2000) + "1", "nests too deep"},
		{strings.Repeat("not ", 2000) + "true", "nests too deep"},
		{strings.Repeat("case when 1 then ", 2000), "nests too deep"},
		{":scale" + strings.Repeat("+:scale", 20000), "too long"},
		{":scale" + strings.Repeat(" is null", 20000), "too long"},
		{strings.Repeat("(", 900) + "1" + strings.Repeat(")", 900), ""},
		{":scale" + strings.Repeat("+:scale", 9000), ""},
		{"case " + strings.Repeat("when :scale = 2 then 3 ", 20000) + "end", ""},
	} {
		_, err := evaluate(t, c.expr)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.40s…: %v, want %q", c.expr, err, c.want)
		}
	}
}
