/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

import type { Metric, SpecializationMetric } from "./types";

export const METRICS: readonly Metric[] = [
{"key":"confidence_max","name":"Confidence (max)","short":"Conf. max","summary":"the sharpest single link","unit":"","warning":null},
{"key":"confidence_avg","name":"Confidence (average)","short":"Conf. avg","summary":"how sure a typical query is","unit":"","warning":null},
{"key":"focus_entropy","name":"Focus (entropy)","short":"Entropy","summary":"how diffuse the head is, summed over queries","unit":"nats","warning":"High is diffuse, not focused."},
{"key":"sparsity","name":"Sparsity","short":"Sparsity","summary":"share of weights below τ","unit":"","warning":null},
{"key":"distribution_median","name":"Distribution (median)","short":"Median","summary":"the weight in the middle","unit":"","warning":null},
{"key":"uniformity","name":"Uniformity","short":"Uniformity","summary":"standard deviation of the weights","unit":"","warning":"High is less uniform."},
];
export const SPECIALIZATIONS: readonly SpecializationMetric[] = [
{"key":"syntax","name":"Syntax","short":"Syntax","meaning":"function words"},
{"key":"semantics","name":"Semantics","short":"Semantics","meaning":"content words"},
{"key":"cls","name":"CLS","short":"CLS","meaning":"the first token"},
{"key":"punctuation","name":"Punctuation","short":"Punct.","meaning":"commas, full stops …"},
{"key":"entities","name":"Entities","short":"Entities","meaning":"named entities"},
{"key":"long_range","name":"Long range","short":"Far (5+)","meaning":"5+ tokens away"},
{"key":"self","name":"Self","short":"Self","meaning":"the token itself"},
];
export const PATTERNS: readonly SpecializationMetric[] = [
{"key":"previous","name":"Previous token","short":"Previous","meaning":"one token back"},
{"key":"next","name":"Next token","short":"Next","meaning":"one token on"},
{"key":"duplicate","name":"Duplicate token","short":"Duplicate","meaning":"the same token before"},
{"key":"induction","name":"Induction","short":"Induction","meaning":"what followed the same token"},
{"key":"rest","name":"Rest","short":"Rest","meaning":"on no token"},
];
export const ALIGNMENT: readonly SpecializationMetric[] = [
{"key":"monotony","name":"Monotony","short":"Monotony","meaning":"through the source in order"},
{"key":"expected_place","name":"Expected source place","short":"Place","meaning":"where in the source"},
];
export const ALIGNMENT_DEFINITIONS: readonly string[] = ["Monotony: Spearman’s correlation of the expected source place with the place of the target token.","Expected source place: the mean, over target tokens, of the sum over source tokens of their place times their weight."];
export const FIRST_TOKEN: SpecializationMetric = {"key":"cls","name":"First token","short":"First","meaning":"the first token"};
