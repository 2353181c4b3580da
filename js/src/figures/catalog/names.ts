/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

export const NAMES: Readonly<Record<string, string>> = {"confidence_max":"Confidence (max)","confidence_avg":"Confidence (average)","focus_entropy":"Focus (entropy)","sparsity":"Sparsity","distribution_median":"Distribution (median)","uniformity":"Uniformity","q25":"Lower quartile","q75":"Upper quartile","focus_normalized":"Focus, normalized","focus_per_row":"Focus per row","effective_keys":"Effective keys","syntax":"Syntax","semantics":"Semantics","cls":"CLS","punctuation":"Punctuation","entities":"Entities","long_range":"Long range","self":"Self","previous":"Previous token","next":"Next token","duplicate":"Duplicate token","induction":"Induction","rest":"Rest","monotony":"Monotony","expected_place":"Expected source place"};
export const SPECIALIZATION_KEYS: readonly string[] = ["syntax","semantics","cls","punctuation","entities","long_range","self"];
export const PATTERN_KEYS: readonly string[] = ["previous","next","duplicate","induction","rest"];
export const ALIGNMENT_KEYS: readonly string[] = ["monotony","expected_place"];
