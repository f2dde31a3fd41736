#include "tests/scenario/key_rows.h"

#include "models/compression/functional.h"

namespace kvsim::testing {
namespace {

const std::string kCompressor = "decode.compressor";
const Sets kLossy = {"decode.policy=lossy", "schedule.policy=fcfs"};
const Sets kQuantised = {"decode={policy: draft_verify, compressor: kivi-2bit, draft_length: 20}"};
const Sets kConstant = {"decode.acceptance={model: constant, agreement: 0.9}"};
const Sets kDiffering = {"decode.acceptance={model: heterogeneous, agreement: 0.9, concentration: 10}"};
const Sets kAdaptive = {"decode.draft_lengths={policy: adaptive}", "workload.output=1000 tokens",
                        "decode.acceptance={model: constant, agreement: 0.9}"};
const Sets kSlowLink = {"cluster.host.link.read=5 GB/s"};

std::string one_point(const std::string& curve, const char* keep_ratio, const char* value, const char* source = "") {
  return kCompressor + "." + curve + "={points: [{keep_ratio: " + keep_ratio + ", value: " + value + "}]" + source +
         "}";
}

/// The keys of a curve over the keep ratio.
void add_curve(std::vector<KeyRow>& rows, const std::string& curve, const Sets& base) {
  const std::string key = kCompressor + "." + curve;
  rows.insert(rows.end(),
              {
                  {key + ".points[].keep_ratio", base, one_point(curve, "0.1", "0.9"), one_point(curve, "0.3", "0.9")},
                  {key + ".points[].value", base, one_point(curve, "0.3", "0.9"), one_point(curve, "0.3", "0.8")},
                  {key + ".source", base, one_point(curve, "0.2", "0.9", ", source: assumption"),
                   one_point(curve, "0.2", "0.9", ", source: scenario"), Effect::reported},
                  {key + ".reference", base, one_point(curve, "0.2", "0.9", ", source: derived, reference: one"),
                   one_point(curve, "0.2", "0.9", ", source: derived, reference: two"), Effect::reported},
              });
}

std::vector<KeyRow> compressor_rows() {
  std::vector<KeyRow> rows = {
      {kCompressor + ".name", {}, "one", "two", Effect::reported},
      {kCompressor + ".description", {}, "one", "two", Effect::shown},
      {kCompressor + ".kind",
       {kCompressor + "={base: kvzip, kind: both, bits_per_element: 8, reload: whole}", "decode.keep_ratio=0.5"},
       "both",
       "quantisation"},
      {kCompressor + ".mode", recomputed(), "online", "offline", Effect::refused},
      {kCompressor + ".scope", {}, "prompt", "all"},
      {kCompressor + ".reload", {}, "missing", "whole"},
      {kCompressor + ".long_context", {}, "true", "false", Effect::refused},
      {kCompressor + ".remote_prefix", with_pools(), "true", "false", Effect::refused},
      {kCompressor + ".reads_only",
       {kCompressor + "={base: fast-kvzip, remote_prefix: false}"},
       "false",
       "true",
       Effect::refused},
      {kCompressor + ".bits_per_element", kQuantised, "2", "4"},
      {kCompressor + ".group_size", kQuantised, "32", "64"},
      {kCompressor + ".residual_tokens", kQuantised, "128", "1024"},
      {kCompressor + ".sink_tokens", kQuantised, "0", "1024"},
      {kCompressor + ".whole_layers", kQuantised, "0", "4"},
      {kCompressor + ".compress_rate", recomputed(), "500 GB/s", "50 GB/s"},
      {kCompressor + ".decompress_rate", with_pools({"dispatch.paths=[P1_stateless]"}), "500 GB/s", "5 GB/s"},
      {kCompressor + ".attention_time_factor", {}, "1", "2"},
  };
  add_curve(rows, "step_kl", kLossy);
  add_curve(rows, "agreement", {});
  add_curve(rows, "quality", kLossy);
  for (const models::FunctionalTask& task : models::kFunctionalTasks) {
    add_curve(rows, std::string("functional.") + task.key, kLossy);
  }
  return rows;
}

/// A whole attention profile with these curves.
std::string attention(const std::string& coverage, const std::string& hit_rate, const std::string& recovery) {
  return "decode.prefetch.attention={description: x, coverage: {points: [" + coverage + "]}, hit_rate: {points: [" +
         hit_rate + "]}, recovery: {points: [" + recovery + "]}}";
}

std::vector<KeyRow> prefetch_rows() {
  const std::string key = "decode.prefetch";
  const std::string profile = key + ".attention";
  const std::string cover = "{at: 0.004, value: 0.6}", hit = "{at: 2, value: 0.9}", back = "{at: 0.5, value: 0.5}";
  const std::string plain = attention(cover, hit, back);
  const Sets drawn = fetching({plain});
  std::vector<KeyRow> rows = {
      {key + ".top_k", fetching(), "64", "128"},
      {key + ".overlap", fetching(), "0", "0.5"},
      {key + ".query_tokens", fetching(), "1", "2"},
      {key + ".row_tokens", fetching(), "1", "16"},
      {key + ".layout", fetching(), "separate", "interleaved"},
      {key + ".dequantisation", fetching(), "fused", "unfused"},
      {key + ".attends_again", fetching({"decode.policy=fetch_on_demand"}), "false", "true"},
      {key + ".copies", fetching(), "mapped_reads", "batched_copies"},
      {key + ".buffered_layers", {"decode.policy=full_offload", "schedule.policy=fcfs"}, "2", "16"},
      {profile + ".name", drawn, "one", "two", Effect::shown},
      {profile + ".description", drawn, "one", "two", Effect::shown},
      {profile + ".coverage.points[].at", fetching(), plain, attention("{at: 0.1, value: 0.6}", hit, back)},
      {profile + ".coverage.points[].value", fetching(), plain, attention("{at: 0.004, value: 0.7}", hit, back)},
      {profile + ".hit_rate.points[].at", fetching(), plain, attention(cover, "{at: 3, value: 0.9}", back)},
      {profile + ".hit_rate.points[].value", fetching(), plain, attention(cover, "{at: 2, value: 0.8}", back)},
      {profile + ".recovery.points[].at", fetching(), plain, attention(cover, hit, "{at: 0.7, value: 0.5}")},
      {profile + ".recovery.points[].value", fetching(), plain, attention(cover, hit, "{at: 0.5, value: 0.7}")},
  };
  for (const char* curve : {"coverage", "hit_rate", "recovery"}) {
    const std::string of = profile + "." + curve;
    rows.push_back({of + ".source", drawn, "assumption", "scenario", Effect::reported});
    rows.push_back({of + ".reference", drawn, "one", "two", Effect::reported});
  }
  return rows;
}

/// Three rows, the first of which is this one.
std::string table(const char* batch, const char* context, const char* x) {
  return std::string("decode.draft_lengths={policy: table, table: [{batch: ") + batch + ", context: " + context +
         " tokens, draft_length: " + x +
         "}, {batch: 20, context: 64k tokens, draft_length: 21}, {batch: 30, context: 64k tokens, draft_length: 30}]}";
}

}  // namespace

std::vector<KeyRow> decode_rows() {
  std::vector<KeyRow> rows = compressor_rows();
  const std::vector<KeyRow> prefetch = prefetch_rows();
  rows.insert(rows.end(), prefetch.begin(), prefetch.end());
  rows.insert(rows.end(),
              {
                  {"decode.policy", {"schedule.policy=fcfs"}, "draft_verify", "full_kv"},
                  {"decode.keep_ratio", {}, "0.25", "0.5"},
                  {"decode.budget",
                   {"decode={policy: draft_verify, compressor: kvzip, draft_length: 20, budget: 1k tokens}"},
                   "4k tokens",
                   "2k tokens"},
                  {"decode.draft_length", {}, "20", "10"},
                  {"decode.draft_limit", kSlowLink, "20", "60"},
                  {"decode.resident", {}, "0", "3"},
                  {"decode.offloaded", {}, "all", "3"},
                  {"decode.acceptance.model", kConstant, "constant", "heterogeneous"},
                  {"decode.acceptance.agreement", kConstant, "0.9", "0.8"},
                  {"decode.acceptance.concentration", kDiffering, "10", "50"},
                  {"decode.acceptance.step_kl", {"decode.acceptance={model: step_kl}"}, "0.02", "0.1"},
                  {"decode.acceptance.points[].draft_length",
                   {},
                   "decode.acceptance={model: curve, points: [{draft_length: 10, accepted: 6}]}",
                   "decode.acceptance={model: curve, points: [{draft_length: 20, accepted: 6}]}"},
                  {"decode.acceptance.points[].accepted",
                   {},
                   "decode.acceptance={model: curve, points: [{draft_length: 10, accepted: 6}]}",
                   "decode.acceptance={model: curve, points: [{draft_length: 10, accepted: 8}]}"},
                  {"decode.acceptance.positions[]",
                   {},
                   "decode.acceptance={model: positions, positions: [0.9, 0.7]}",
                   "decode.acceptance={model: positions, positions: [0.9, 0.8]}"},
                  {"decode.acceptance.lengths[]",
                   {},
                   "decode.acceptance={model: recorded, lengths: [3, 12]}",
                   "decode.acceptance={model: recorded, lengths: [3, 15]}"},
                  {"decode.draft_lengths.policy", {}, "fixed", "adaptive"},
                  {"decode.draft_lengths.forgetting", kAdaptive, "0.9", "0.5"},
                  {"decode.draft_lengths.prior_tokens", kAdaptive, "4", "40"},
                  {"decode.draft_lengths.minimum", kAdaptive, "1", "15"},
                  {"decode.draft_lengths.maximum", kAdaptive, "64", "5"},
                  {"decode.draft_lengths.table[].batch", {}, table("6", "1k", "9"), table("20", "1k", "9")},
                  {"decode.draft_lengths.table[].context", {}, table("20", "1k", "9"), table("20", "32k", "9")},
                  {"decode.draft_lengths.table[].draft_length", {}, table("20", "32k", "9"), table("20", "32k", "12")},
              });
  return rows;
}

}  // namespace kvsim::testing
