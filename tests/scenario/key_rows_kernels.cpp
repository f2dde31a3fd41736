// Keys of fitted kernel forms and measured tables. Every row gives a whole profile, in which one value differs.
#include <fmt/format.h>

#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

using Sets = std::vector<std::string>;

const std::string kProfile = "cluster.gpu.profile";

/// Key paths below the profile (lists without brackets) and the value that stands there unless a row changes it.
struct Leaf {
  const char* key;
  const char* value;
};

constexpr Leaf kMachine[] = {{"memory_bandwidth", "3350 GB/s"}, {"bf16_peak", "989 TFLOP/s"},
                             {"fp8_peak", "1979 TFLOP/s"},      {"fp4_peak", "0 FLOP/s"},
                             {"multiprocessors", "132"},        {"l2_cache", "50 MiB"},
                             {"architecture", "hopper"}};
constexpr Leaf kQuantise[] = {{"t0", "1 us"}, {"per_token", "1 ns"}, {"bandwidth_efficiency", "0.5"}};
constexpr Leaf kBenchmark[] = {
    {"l2_efficiency", "2"}, {"l2_share", "0.8"}, {"l2_width", "0.4"}, {"launch", "60 us"}, {"launch_few", "50 us"}};
constexpr Leaf kWalk[] = {{"sm_bandwidth", "4"}, {"efficiency", "0.5"}, {"wave_quantisation", "0.5"},
                          {"unit", "2 us"},      {"least_keys", "128"}, {"blend_power", "4"},
                          {"join", "20 ns"},     {"regroup", "1 us"},   {"splits_single_heads", "true"}};
constexpr Leaf kLinearCorrection[] = {{"tokens", "[1, 4096]"},
                                      {"n", "[64, 65536]"},
                                      {"k", "[64, 65536]"},
                                      {"factors", "[1, 1.2, 1.4, 1.1, 1.5, 1.3, 1.7, 1.6]"}};
constexpr const char* kGridFactors = "[1, 1.2, 1.4, 1.1, 1.5, 1.3, 1.7, 1.6, 1.1, 1.4, 1.3, 1.2, 1.8, 1.5, 1.2, 1.9]";
constexpr Leaf kWalkCorrection[] = {{"walks", "[1, 4096]"},
                                    {"kv_length", "[16, 65536]"},
                                    {"head_dim", "[64, 256]"},
                                    {"group", "[1, 32]"},
                                    {"factors", kGridFactors}};
constexpr Leaf kHeadCorrection[] = {{"heads", "[1, 4096]"},
                                    {"kv_length", "[16, 65536]"},
                                    {"head_dim", "[64, 256]"},
                                    {"group", "[1, 32]"},
                                    {"factors", kGridFactors}};
constexpr Leaf kStream[] = {
    {"bandwidth_efficiency", "0.9"}, {"l2_efficiency", "2"}, {"l2_share", "0.8"}, {"l2_width", "0.4"}};
constexpr Leaf kTile[] = {{"rows", "128"}, {"columns", "128"}, {"efficiency", "0.7"}};
constexpr Leaf kLinear[] = {{"weights", "bf16"},        {"t0", "4 us"},           {"bandwidth_efficiency", "0.9"},
                            {"extra_input_bytes", "0"}, {"tile_overhead_k", "0"}, {"wave_quantisation", "0.5"},
                            {"blend_power", "4"},       {"power_droop", "0"},     {"valid_to", "4096"},
                            {"io_efficiency", "0.9"},   {"per_doubling", "0 us"}, {"sm_bandwidth", "0"},
                            {"source", "measurement"},  {"reference", "one"}};
constexpr Leaf kDecode[] = {{"kv", "bf16"},
                            {"t0", "13 us"},
                            {"per_doubling", "1 us"},
                            {"per_head", "2 ns"},
                            {"cold", "1 us"},
                            {"uneven_share", "0.05"},
                            {"hits_in_serving", "false"},
                            {"valid_to", "4e9"},
                            {"source", "measurement"},
                            {"reference", "one"}};
constexpr Leaf kPrefill[] = {{"kv", "bf16"},
                             {"tile_rows", "128"},
                             {"t0", "10 us"},
                             {"efficiency", "0.6"},
                             {"overhead_tokens", "100"},
                             {"longest_factor", "1"},
                             {"wave_quantisation", "0.5"},
                             {"blend_power", "4"},
                             {"io_efficiency", "0.8"},
                             {"head_dim_power", "0"},
                             {"tile", "0 us"},
                             {"per_doubling", "0 us"},
                             {"write_efficiency", "0"},
                             {"power_droop", "0"},
                             {"packs_groups", "false"},
                             {"valid_to", "16384"},
                             {"source", "measurement"},
                             {"reference", "one"}};
constexpr Leaf kLaunches[] = {{"decode", "decode"}, {"several_queries", "once"}, {"prefill", "mixed"},
                              {"mixed", "mixed"},   {"source", "measurement"},   {"reference", "one"}};
constexpr Leaf kJoined[] = {{"empty_tile", "2 ns"}, {"decode_overhead_tokens", "0"}};
constexpr Leaf kElementwise[] = {{"t0", "2 us"}, {"source", "measurement"}, {"reference", "one"}};
constexpr Leaf kExperts[] = {{"weights", "bf16"},          {"t0", "20 us"},           {"per_expert", "10 ns"},
                             {"per_doubling", "1 us"},     {"foreign_share", "0.5"},  {"tile_overhead_k", "0"},
                             {"wave_quantisation", "0.5"}, {"blend_power", "4"},      {"io_efficiency", "0.8"},
                             {"valid_to", "16384"},        {"source", "measurement"}, {"reference", "one"}};
constexpr Leaf kLinearTable[] = {
    {"weights", "bf16"}, {"n", "6144"}, {"k", "4096"}, {"source", "measurement"}, {"reference", "one"}};
constexpr Leaf kDecodeTable[] = {{"kv", "bf16"},    {"heads", "32"},           {"kv_heads", "8"},   {"head_dim", "128"},
                                 {"warm", "false"}, {"source", "measurement"}, {"reference", "one"}};

/// Writes profiles in which the value at `key` is `value`.
class Writer {
 public:
  Writer(std::string key, std::string value) : key_(std::move(key)), value_(std::move(value)) {}

  [[nodiscard]] std::string fitted(bool mixed) const {
    const std::string decode = "fitted.decode_attention";
    const std::string prefill = "fitted.prefill_attention";
    std::string forms = "linear: [" + linear() + "], decode_attention: [{" + leaves(decode, kDecode) + ", stream: {" +
                        leaves(decode + ".stream", kStream) + "}" + asked(decode + ".walk", kWalk) +
                        asked(decode + ".correction", kWalkCorrection) + "}], prefill_attention: [{" +
                        leaves(prefill, kPrefill) + asked(prefill + ".correction", kHeadCorrection) + "}], moe: [{" +
                        leaves("fitted.moe", kExperts) + ", stream: {" + leaves("fitted.moe.stream", kStream) +
                        "}, tiles: [{" + leaves("fitted.moe.tiles", kTile) +
                        "}]}], elementwise: " + with_stream("fitted.elementwise", kElementwise);
    if (mixed) {
      const std::string at = "fitted.mixed_attention";
      std::string tiled = leaves(at, kPrefill);
      // It must matter which of two forms serves.
      if (key_.rfind("launches.", 0) == 0) tiled.replace(tiled.find("t0: 10 us"), 9, "t0: 90 us");
      forms += ", mixed_attention: [{" + tiled + asked(at + ".correction", kHeadCorrection) + ", " +
               leaves(at, kJoined) + ", stream: {" + leaves(at + ".stream", kStream) + "}}]";
    }
    const std::string launches = "{" + leaves("launches", kLaunches) + "}";
    return "machine: {" + leaves("machine", kMachine) + "}, fitted: {" + forms + "}" +
           (mixed ? ", launches: " + launches : "");
  }

  [[nodiscard]] std::string tables() const {
    const std::string point = "tables.linear.points";
    const std::string rows = "tables.decode_attention.rows";
    const std::string lengths = "tables.decode_attention.kv_lengths";
    return "tables: {linear: [{" + leaves("tables.linear", kLinearTable) +
           ", points: [{size: 1, seconds: 30 us}, {size: " + leaf(point + ".size", "512") +
           ", seconds: " + leaf(point + ".seconds", "80 us") + "}]}], decode_attention: [{" +
           leaves("tables.decode_attention", kDecodeTable) + ", kv_lengths: [1000, " + leaf(lengths, "32000") +
           "], rows: [{requests: 1, seconds: [30 us, 60 us]}, {requests: " + leaf(rows + ".requests", "32") +
           ", seconds: [60 us, " + leaf(rows + ".seconds", "1.5 ms") +
           "]}]}], sampler: [{size: 1, seconds: 20 us}, {size: " + leaf("tables.sampler.size", "64") +
           ", seconds: " + leaf("tables.sampler.seconds", "60 us") +
           "}], sampler_source: " + leaf("tables.sampler_source", "measurement") +
           ", sampler_reference: " + leaf("tables.sampler_reference", "one") + "}";
  }

 private:
  [[nodiscard]] std::string leaf(const std::string& key, const std::string& value) const {
    return key == key_ ? value_ : value;
  }
  template <std::size_t N>
  [[nodiscard]] std::string leaves(const std::string& at, const Leaf (&table)[N]) const {
    std::string out;
    for (const Leaf& l : table) {
      if (!out.empty()) out += ", ";
      out += std::string(l.key) + ": " + leaf(at + "." + l.key, l.value);
    }
    return out;
  }
  /// An object that stands there only where the row is about one of its keys.
  template <std::size_t N>
  [[nodiscard]] std::string asked(const std::string& at, const Leaf (&table)[N]) const {
    if (key_.rfind(at + ".", 0) != 0) return "";
    return ", " + at.substr(at.rfind('.') + 1) + ": {" + leaves(at, table) + "}";
  }
  template <std::size_t N>
  [[nodiscard]] std::string with_stream(const std::string& at, const Leaf (&table)[N]) const {
    return "{" + leaves(at, table) + ", stream: {" + leaves(at + ".stream", kStream) + "}}";
  }
  [[nodiscard]] std::string linear() const {
    const std::string at = "fitted.linear";
    return "{" + leaves(at, kLinear) + asked(at + ".quantise", kQuantise) + asked(at + ".benchmark", kBenchmark) +
           asked(at + ".correction", kLinearCorrection) + ", tiles: [{" + leaves(at + ".tiles", kTile) + "}]}";
  }

  std::string key_;
  std::string value_;
};

struct Fixture {
  bool mixed = false;   ///< one launch for chunks and decoding requests
  bool tables = false;  ///< measured tables beside the forms
  Sets base = {};
};

/// A row for the key at `path` (as the schema writes it, below the profile).
KeyRow row(const std::string& path, const std::string& a, const std::string& b, const Fixture& fixture = {},
           Effect effect = Effect::measured) {
  std::string plain = path;
  for (auto at = plain.find("[]"); at != std::string::npos; at = plain.find("[]")) plain.erase(at, 2);
  const auto assignment = [&](const std::string& value) {
    const Writer w(plain, value);
    return kProfile + "={base: datasheet-generic, name: fitted, measured_on: h100-sxm, " + w.fitted(fixture.mixed) +
           (fixture.tables ? ", " + w.tables() : "") + "}";
  };
  return {kProfile + "." + path, fixture.base, assignment(a), assignment(b), effect};
}

Fixture with_wide_heads(Fixture f) {
  f.base.push_back("model.head_dim=256");
  return f;
}

void add_correction(std::vector<KeyRow>& rows, const std::string& form, const char* units, const Fixture& f) {
  const std::string at = form + "correction.";
  rows.push_back(row(at + units + "[]", "[1, 4096]", "[1, 8]", f));
  rows.push_back(row(at + "kv_length[]", "[16, 65536]", "[16, 2048]", f));
  rows.push_back(row(at + "head_dim[]", "[64, 256]", "[64, 1024]", f));
  rows.push_back(row(at + "group[]", "[1, 32]", "[1, 8]", f));
  rows.push_back(row(at + "factors[]", kGridFactors, "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]", f));
}

void add_tiled(std::vector<KeyRow>& rows, const std::string& at, const Fixture& f) {
  rows.push_back(row(at + "kv", "bf16", "fp8", f));
  rows.push_back(row(at + "tile_rows", "128", "64", f));
  rows.push_back(row(at + "t0", "10 us", "30 us", f));
  rows.push_back(row(at + "efficiency", "0.6", "0.3", f));
  rows.push_back(row(at + "overhead_tokens", "100", "400", f));
  rows.push_back(row(at + "longest_factor", "1", "10", f));
  rows.push_back(row(at + "wave_quantisation", "0", "1", f));
  rows.push_back(row(at + "blend_power", "1", "4", f));
  rows.push_back(row(at + "io_efficiency", "0.8", "0.1", f));
  rows.push_back(row(at + "head_dim_power", "0", "1", with_wide_heads(f)));
  rows.push_back(row(at + "tile", "0 us", "9 us", f));
  rows.push_back(row(at + "per_doubling", "0 us", "20 us", f));
  rows.push_back(row(at + "write_efficiency", "0", "0.01", f));
  rows.push_back(row(at + "power_droop", "0", "1", f));
  rows.push_back(row(at + "packs_groups", "false", "true", f));
  add_correction(rows, at, "heads", f);
  rows.push_back(row(at + "valid_to", "64", "1000000", f, Effect::reported));
  rows.push_back(row(at + "source", "measurement", "publication", f, Effect::reported));
  rows.push_back(row(at + "reference", "one", "two", f, Effect::reported));
}

void add_stream(std::vector<KeyRow>& rows, const std::string& at, const Fixture& f) {
  rows.push_back(row(at + "stream.bandwidth_efficiency", "0.9", "0.5", f));
  rows.push_back(row(at + "stream.l2_efficiency", "2", "4", f));
  rows.push_back(row(at + "stream.l2_share", "0.8", "0.01", f));
  rows.push_back(row(at + "stream.l2_width", "0.4", "2", f));
}

/// Of routed experts, in a mixture that is sharded within each expert at most.
void add_experts(std::vector<KeyRow>& rows) {
  const std::string mixture =
      "model={base: llama-3.1-8b, moe: {experts: 16, experts_per_token: 2, shared_experts: 0, expert_intermediate: "
      "1024, "
      "dense_layers: 2}}";
  const Fixture decoding{.base = {mixture}};
  const Fixture prefilling{.base = recomputed({mixture})};
  const std::string at = "fitted.moe[].";
  rows.push_back(row(at + "weights", "bf16", "fp8", decoding));
  rows.push_back(row(at + "t0", "20 us", "50 us", decoding));
  rows.push_back(row(at + "per_expert", "10 ns", "90 ns", decoding));
  rows.push_back(row(at + "per_doubling", "1 us", "9 us", decoding));
  rows.push_back(
      row(at + "foreign_share", "0.5", "1", decoding, Effect::none_yet));  // no scenario spreads whole experts
  rows.push_back(row(at + "tile_overhead_k", "0", "9000", prefilling));
  rows.push_back(row(at + "wave_quantisation", "0", "1", prefilling));
  rows.push_back(row(at + "blend_power", "1", "4", decoding));
  rows.push_back(row(at + "io_efficiency", "0.8", "0.1", decoding));
  rows.push_back(row(at + "stream.bandwidth_efficiency", "0.9", "0.5", decoding));
  // A step reads other layers' weights in between: none of these hit L2.
  rows.push_back(row(at + "stream.l2_efficiency", "2", "4", decoding, Effect::none_yet));
  rows.push_back(row(at + "stream.l2_share", "0.8", "0.01", decoding, Effect::none_yet));
  rows.push_back(row(at + "stream.l2_width", "0.4", "2", decoding, Effect::none_yet));
  rows.push_back(row(at + "tiles[].rows", "128", "512", prefilling));
  rows.push_back(row(at + "tiles[].columns", "128", "512", prefilling));
  rows.push_back(row(at + "tiles[].efficiency", "0.7", "0.2", prefilling));
  rows.push_back(row(at + "valid_to", "8", "16384", prefilling, Effect::reported));
  rows.push_back(row(at + "source", "measurement", "publication", decoding, Effect::reported));
  rows.push_back(row(at + "reference", "one", "two", decoding, Effect::reported));
}

}  // namespace

std::string fitted_profile() {
  return row("fitted.linear[].t0", "4 us", "4 us").a;
}

std::vector<KeyRow> kernel_rows() {
  const Fixture prefilling{.base = recomputed()};
  const Fixture mixed{.mixed = true,
                      .base = recomputed({"workload.closed={concurrency: 40}", "cluster.gpu.type.multiprocessors=20"})};
  const Fixture tables{.tables = true};
  const Fixture crowded{.base = {"cluster.gpu.type.multiprocessors=5"}};
  // Tables measured on another machine are scaled by what the forms say of both.
  const Fixture other{.tables = true, .base = {"cluster.gpu.type=h200"}};
  std::vector<KeyRow> rows = {
      row("machine.memory_bandwidth", "3350 GB/s", "3400 GB/s", other),
      row("machine.bf16_peak", "989 TFLOP/s", "960 TFLOP/s",
          {.tables = true, .base = recomputed({"cluster.gpu.type=h200"})}),
      row("machine.multiprocessors", "132", "64", other),
      row("machine.fp4_peak", "0 FLOP/s", "4000 TFLOP/s", {}, Effect::refused),  // the H100 has no such units
      row("machine.architecture", "hopper", "ampere", other, Effect::reported),
      row("fitted.linear[].weights", "bf16", "fp8"),
      row("fitted.linear[].t0", "4 us", "9 us"),
      row("fitted.linear[].bandwidth_efficiency", "0.9", "0.6"),
      row("fitted.linear[].extra_input_bytes", "0", "20"),
      row("fitted.linear[].tile_overhead_k", "0", "9000", prefilling),
      row("fitted.linear[].wave_quantisation", "0", "1", prefilling),
      row("fitted.linear[].blend_power", "1", "4"),
      row("fitted.linear[].power_droop", "0", "0.5", prefilling),
      row("fitted.linear[].tiles[].rows", "128", "256", prefilling),
      row("fitted.linear[].tiles[].columns", "128", "512", prefilling),
      row("fitted.linear[].tiles[].efficiency", "0.7", "0.3", prefilling),
      row("fitted.linear[].io_efficiency", "0.9", "0.01"),
      row("fitted.linear[].per_doubling", "0 us", "9 us"),
      row("fitted.linear[].sm_bandwidth", "0", "0.5"),
      row("fitted.linear[].quantise.t0", "1 us", "9 us"),
      row("fitted.linear[].quantise.per_token", "1 ns", "9 us"),
      row("fitted.linear[].quantise.bandwidth_efficiency", "0.5", "0.001"),
      row("fitted.linear[].correction.tokens[]", "[1, 4096]", "[1, 8]"),
      row("fitted.linear[].correction.n[]", "[64, 65536]", "[64, 8192]"),
      row("fitted.linear[].correction.k[]", "[64, 65536]", "[64, 8192]"),
      row("fitted.linear[].correction.factors[]", "[1, 1, 1, 1, 1, 1, 1, 1]", "[2, 2, 2, 2, 2, 2, 2, 2]"),
      row("fitted.linear[].benchmark.l2_efficiency", "2", "3", {}, Effect::none_yet),
      row("fitted.linear[].benchmark.l2_share", "0.8", "0.9", {}, Effect::none_yet),
      row("fitted.linear[].benchmark.l2_width", "0.4", "0.5", {}, Effect::none_yet),
      row("fitted.linear[].benchmark.launch", "60 us", "70 us", {}, Effect::none_yet),
      row("fitted.linear[].benchmark.launch_few", "50 us", "60 us", {}, Effect::none_yet),
      row("fitted.decode_attention[].walk.sm_bandwidth", "4", "0.1"),
      row("fitted.decode_attention[].walk.efficiency", "0.5", "0.001"),
      row("fitted.decode_attention[].walk.wave_quantisation", "0", "1", crowded),
      row("fitted.decode_attention[].walk.unit", "2 us", "90 us"),
      row("fitted.decode_attention[].walk.least_keys", "16", "100000"),
      row("fitted.decode_attention[].walk.blend_power", "1", "4"),
      row("fitted.decode_attention[].walk.join", "20 ns", "20 us"),
      row("fitted.decode_attention[].walk.regroup", "1 us", "20 us"),
      row("fitted.decode_attention[].walk.splits_single_heads", "true", "false",
          {.base = {"model.kv_heads=32", "workload.closed={concurrency: 1}"}}),
      row("fitted.linear[].valid_to", "8", "4096", {}, Effect::reported),
      row("fitted.linear[].source", "measurement", "publication", {}, Effect::reported),
      row("fitted.linear[].reference", "one", "two", {}, Effect::reported),
      row("fitted.decode_attention[].kv", "bf16", "fp8"),
      row("fitted.decode_attention[].t0", "13 us", "40 us"),
      row("fitted.decode_attention[].per_doubling", "1 us", "9 us"),
      row("fitted.decode_attention[].per_head", "2 ns", "90 ns"),
      row("fitted.decode_attention[].cold", "1 us", "20 us"),
      row("fitted.decode_attention[].uneven_share", "0", "1",
          {.base = {"workload.output={distribution: exponential, mean: 2000 tokens}"}}),
      row("fitted.decode_attention[].hits_in_serving", "false", "true"),
      row("fitted.decode_attention[].valid_to", "1e6", "4e9", {}, Effect::reported),
      row("fitted.decode_attention[].source", "measurement", "publication", {}, Effect::reported),
      row("fitted.decode_attention[].reference", "one", "two", {}, Effect::reported),
      row("fitted.elementwise.t0", "2 us", "9 us"),
      row("fitted.elementwise.source", "measurement", "publication", {}, Effect::reported),
      row("fitted.elementwise.reference", "one", "two", {}, Effect::reported),
      row("launches.decode", "decode", "mixed", mixed),
      row("launches.several_queries", "once", "prefill", mixed),
      row("launches.prefill", "prefill", "mixed",
          {.mixed = true, .base = recomputed({"workload.closed={concurrency: 1}"})}),
      row("launches.mixed", "apart", "mixed", mixed),
      row("launches.source", "measurement", "publication", mixed, Effect::reported),
      row("launches.reference", "one", "two", mixed, Effect::reported),
      row("fitted.mixed_attention[].empty_tile", "2 ns", "90 ns", mixed),
      row("fitted.mixed_attention[].decode_overhead_tokens", "-90", "300", mixed),
      row("tables.linear[].weights", "bf16", "fp8", tables, Effect::refused),
      row("tables.linear[].n", "6144", "6145", tables),
      row("tables.linear[].k", "4096", "4097", tables),
      row("tables.linear[].points[].size", "512", "64", tables),
      row("tables.linear[].points[].seconds", "80 us", "400 us", tables),
      row("tables.linear[].source", "measurement", "publication", tables, Effect::reported),
      row("tables.linear[].reference", "one", "two", tables, Effect::reported),
      row("tables.decode_attention[].kv", "bf16", "fp8", tables, Effect::refused),
      row("tables.decode_attention[].heads", "32", "16", tables),
      row("tables.decode_attention[].kv_heads", "8", "4", tables),
      row("tables.decode_attention[].head_dim", "128", "64", tables),
      row("tables.decode_attention[].warm", "false", "true", tables),
      row("tables.decode_attention[].kv_lengths[]", "32000", "20000", tables),
      row("tables.decode_attention[].rows[].requests", "32", "16", tables),
      row("tables.decode_attention[].rows[].seconds[]", "1.5 ms", "3 ms", tables),
      row("tables.decode_attention[].source", "measurement", "publication", tables, Effect::reported),
      row("tables.decode_attention[].reference", "one", "two", tables, Effect::reported),
      row("tables.sampler[].size", "64", "16", tables),
      row("tables.sampler[].seconds", "60 us", "600 us", tables),
      row("tables.sampler_source", "measurement", "publication", tables, Effect::reported),
      row("tables.sampler_reference", "one", "two", tables, Effect::reported),
  };
  // What L2 does to KV counts where a table was measured warm; its machine's L2 decides there too.
  Fixture warm = tables;
  const auto warm_row = [&](const std::string& path, const std::string& a, const std::string& b) {
    KeyRow r = row(path, a, b, warm);
    for (std::string* value : {&r.a, &r.b}) value->replace(value->find("warm: false"), 11, "warm: true");
    rows.push_back(r);
  };
  warm_row("machine.l2_cache", "50 MiB", "500 MiB");
  warm_row("fitted.decode_attention[].stream.l2_efficiency", "2", "4");
  warm_row("fitted.decode_attention[].stream.l2_share", "0.8", "40");
  warm_row("fitted.decode_attention[].stream.l2_width", "0.4", "2");
  rows.push_back(row("fitted.decode_attention[].stream.bandwidth_efficiency", "0.9", "0.5"));
  KeyRow fp8 = row("machine.fp8_peak", "1979 TFLOP/s", "1 TFLOP/s",
                   {.tables = true, .base = {"cluster.gpu.type=h200", "model.weight_bytes_per_parameter=1"}});
  for (std::string* value : {&fp8.a, &fp8.b}) {
    for (auto at = value->find("weights: bf16"); at != std::string::npos; at = value->find("weights: bf16")) {
      value->replace(at, 13, "weights: fp8");
    }
  }
  fp8.effect = Effect::refused;  // the table's times beat so slow a machine
  rows.push_back(fp8);
  add_stream(rows, "fitted.elementwise.", prefilling);
  add_stream(rows, "fitted.mixed_attention[].", mixed);
  add_correction(rows, "fitted.decode_attention[].", "walks", {});
  add_tiled(rows, "fitted.prefill_attention[].", prefilling);
  add_tiled(rows, "fitted.mixed_attention[].", mixed);
  add_experts(rows);
  return rows;
}

}  // namespace kvsim::testing
