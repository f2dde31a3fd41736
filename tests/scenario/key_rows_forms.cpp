#include "tests/scenario/key_rows_forms.h"

#include <fmt/format.h>

namespace kvsim::testing {
namespace {

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
constexpr Leaf kError[] = {
    {"median", "0.04"}, {"p90", "0.12"}, {"held_out", "true"}, {"models_median", "0.05"}, {"models_p90", "0.15"}};
constexpr Leaf kTile[] = {{"rows", "128"}, {"columns", "128"}, {"efficiency", "0.7"}};
constexpr Leaf kWhose[] = {{"kernels", "vllm"}};
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
                             {"write_block", "0 us"},
                             {"packs_groups", "false"},
                             {"uneven_group_share", "0"},
                             {"valid_to", "16384"},
                             {"source", "measurement"},
                             {"reference", "one"}};
constexpr Leaf kVerify[] = {
    {"kv", "bf16"},      {"block_rows", "64"}, {"reading", "1.2"}, {"further_blocks", "1"},   {"efficiency", "0.4"},
    {"per_row", "2 ns"}, {"blend_power", "4"}, {"valid_to", "64"}, {"source", "measurement"}, {"reference", "one"}};
constexpr Leaf kLaunches[] = {{"decode", "decode"}, {"several_queries", "once"}, {"prefill", "mixed"},
                              {"mixed", "mixed"},   {"source", "measurement"},   {"reference", "one"}};
constexpr Leaf kJoined[] = {{"empty_tile", "2 ns"}, {"decode_overhead_tokens", "0"}};
constexpr Leaf kLatentDecode[] = {{"kv", "bf16"},
                                  {"t0", "40 us"},
                                  {"per_doubling", "1 us"},
                                  {"per_head", "2 ns"},
                                  {"per_request_doubling", "2 us"},
                                  {"per_token", "20 ns"},
                                  {"chunks_up_to", "0"},
                                  {"valid_to", "4e9"},
                                  {"source", "measurement"},
                                  {"reference", "one"}};
constexpr Leaf kLatentPrefill[] = {{"kv", "bf16"},
                                   {"tile_rows", "128"},
                                   {"t0", "40 us"},
                                   {"efficiency", "0.6"},
                                   {"overhead_tokens", "100"},
                                   {"longest_factor", "1"},
                                   {"wave_quantisation", "0.5"},
                                   {"blend_power", "4"},
                                   {"io_efficiency", "0.8"},
                                   {"per_token", "20 ns"},
                                   {"tile", "0 us"},
                                   {"per_doubling", "0 us"},
                                   {"write_efficiency", "0"},
                                   {"power_droop", "0"},
                                   {"valid_to", "16384"},
                                   {"source", "measurement"},
                                   {"reference", "one"}};
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
    std::string forms =
        "linear: [" + linear() + "], decode_attention: [{" + leaves(decode, kDecode) + ", " + leaves(decode, kWhose) +
        ", stream: {" + leaves(decode + ".stream", kStream) + "}" + asked(decode + ".walk", kWalk) +
        asked(decode + ".correction", kWalkCorrection) + asked(decode + ".error", kError) + "}], " + verify() +
        "prefill_attention: [{" + leaves(prefill, kPrefill) + ", " + leaves(prefill, kWhose) +
        asked(prefill + ".correction", kHeadCorrection) + asked(prefill + ".error", kError) + "}], " + latent() +
        ", moe: [{" + leaves("fitted.moe", kExperts) + ", stream: {" + leaves("fitted.moe.stream", kStream) +
        "}, tiles: [{" + leaves("fitted.moe.tiles", kTile) + "}]" + asked("fitted.moe.error", kError) +
        "}], elementwise: " + with_stream("fitted.elementwise", kElementwise);
    if (mixed) {
      const std::string at = "fitted.mixed_attention";
      std::string tiled = leaves(at, kPrefill);
      // It must matter which of two forms serves.
      if (key_.rfind("launches.", 0) == 0) tiled.replace(tiled.find("t0: 10 us"), 9, "t0: 90 us");
      forms += ", mixed_attention: [{" + tiled + asked(at + ".correction", kHeadCorrection) +
               asked(at + ".error", kError) + ", " + leaves(at, kJoined) + ", stream: {" +
               leaves(at + ".stream", kStream) + "}}]";
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
  [[nodiscard]] std::string latent() const {
    const std::string decode = "fitted.latent_decode_attention";
    return "latent_decode_attention: [{" + leaves(decode, kLatentDecode) + ", stream: {" +
           leaves(decode + ".stream", kStream) + "}" + asked(decode + ".walk", kWalk) +
           asked(decode + ".error", kError) + "}], latent_prefill_attention: [{" +
           leaves("fitted.latent_prefill_attention", kLatentPrefill) +
           asked("fitted.latent_prefill_attention.error", kError) + "}]";
  }
  /// Only where the row is about it.
  [[nodiscard]] std::string verify() const {
    const std::string at = "fitted.verify_attention";
    if (key_.rfind(at + ".", 0) != 0) return "";
    return "verify_attention: [{" + leaves(at, kVerify) + asked(at + ".error", kError) + "}], ";
  }
  [[nodiscard]] std::string linear() const {
    const std::string at = "fitted.linear";
    return "{" + leaves(at, kLinear) + ", " + leaves(at, kWhose) + asked(at + ".quantise", kQuantise) +
           asked(at + ".benchmark", kBenchmark) + asked(at + ".correction", kLinearCorrection) +
           asked(at + ".error", kError) + ", tiles: [{" + leaves(at + ".tiles", kTile) + "}]}";
  }

  std::string key_;
  std::string value_;
};

}  // namespace

KeyRow form_row(const std::string& path, const std::string& a, const std::string& b, const FormFixture& fixture,
                Effect effect) {
  std::string plain = path;
  for (auto at = plain.find("[]"); at != std::string::npos; at = plain.find("[]")) plain.erase(at, 2);
  const auto assignment = [&](const std::string& value) {
    const Writer w(plain, value);
    return kProfile + "={base: datasheet-generic, name: fitted, measured_on: h100-sxm, " + w.fitted(fixture.mixed) +
           (fixture.tables ? ", " + w.tables() : "") + "}";
  };
  return {kProfile + "." + path, fixture.base, assignment(a), assignment(b), effect};
}

}  // namespace kvsim::testing
