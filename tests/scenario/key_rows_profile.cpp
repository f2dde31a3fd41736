#include <tuple>
#include <utility>

#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

const std::string kProfile = "cluster.gpu.profile";
const Sets kNamed = {kProfile + "=h100-vllm"};
const Sets kSlowWrites = {kProfile + "=h100-vllm", "cluster.host.link.write=0.1 GB/s"};
/// Nothing but rooflines, which fitted forms take the place of.
const Sets kRoofline = {kProfile + "=datasheet-generic"};
const Sets kFull = {kProfile + "=datasheet-generic", "decode.policy=full_kv", "schedule.policy=fcfs"};

const Sets kQuantised = {"decode={policy: lossy, compressor: kivi-4bit}", "schedule.policy=fcfs"};

/// Llama 3.2 1B proposes tokens, every step verifies them.
Sets drafting(Sets more = {}) {
  more.insert(more.begin(), {"decode={policy: drafter, drafter: {type: llama-3.2-1b}}", "schedule.policy=fcfs"});
  return more;
}

std::string curve(const char* operation, const char* size, const char* efficiency) {
  return kProfile + "." + operation + ".compute_efficiency={points: [{size: 1, efficiency: 0.2}, {size: " + size +
         ", efficiency: " + efficiency + "}]}";
}

/// TensorRT-LLM's kernels are asked for, and these are here.
std::string by_engine(const char* kernels) {
  return kProfile + "={base: h100-vllm, engine_kernels: trtllm, by_engine: [{kernels: " + kernels +
         ", profile: h100-trtllm}]}";
}

/// Four bits by kernels of the profile: no rate of its own.
constexpr const char* kWithoutRates =
    "decode.compressor={description: four bits, kind: quantisation, mode: online, scope: all, reload: whole, "
    "remote_prefix: true, bits_per_element: 4, group_size: 32, residual_tokens: 128, step_kl: {points: [{keep_ratio: "
    "0.3125, value: 0.01}]}}";

/// The kernels that choose and quantise KV, each with all its keys.
void add_compression(std::vector<KeyRow>& rows) {
  const Sets base = fetching(kNamed);
  const auto add = [&](const std::string& form, const Sets& in, const std::string& before, const std::string& values,
                       const std::string& key, const std::string& a, const std::string& b,
                       Effect effect = Effect::measured) {
    const auto with = [&](const std::string& value) {
      std::string text = values;
      const std::string mark = "@" + key;
      const auto at = text.find(mark);
      text.replace(at, mark.size(), value);
      for (const auto& [name, given] : {std::pair{"@t0", "8 us"},
                                        {"@per_score", "1 ns"},
                                        {"@rows_at_once", "2"},
                                        {"@bandwidth_efficiency", "0.9"},
                                        {"@source", "measurement"},
                                        {"@reference", "one"}}) {
        const auto other = text.find(name);
        if (other != std::string::npos) text.replace(other, std::string(name).size(), given);
      }
      return kProfile + ".fitted." + form + "={" + text + "}";
    };
    rows.push_back({kProfile + ".fitted." + form + "." + before + key, in, with(a), with(b), effect});
  };
  const std::string named = ", source: @source, reference: @reference";
  const std::string top_k = "t0: @t0, per_score: @per_score, rows_at_once: @rows_at_once" + named;
  const std::string pass = "t0: @t0, stream: {bandwidth_efficiency: @bandwidth_efficiency}" + named;
  add("top_k", base, "", top_k, "per_score", "1 ns", "9 ns");
  add("top_k", base, "", top_k, "rows_at_once", "0.001", "2");
  Sets pools = with_pools({"dispatch.paths=[P1_stateless]", kWithoutRates, kNamed.front()});
  for (const auto& [form, values, in] :
       {std::tuple{"top_k", top_k, base}, std::tuple{"quantise", pass, base}, std::tuple{"dequantise", pass, pools}}) {
    add(form, in, "", values, "t0", "8 us", "90 us");
    if (values == pass) add(form, in, "stream.", values, "bandwidth_efficiency", "0.9", "0.1");
    add(form, in, "", values, "source", "measurement", "publication", Effect::reported);
    add(form, in, "", values, "reference", "one", "two", Effect::reported);
  }
}

}  // namespace

std::vector<KeyRow> profile_rows() {
  std::vector<KeyRow> rows{
      {kProfile + ".name", {kProfile + "=h100-vllm", "cluster.gpu.type=h200"}, "one", "two", Effect::reported},
      {kProfile + ".description", kNamed, "one", "two", Effect::shown},
      {kProfile + ".measured_on", kRoofline, "h100-sxm", "h200", Effect::reported},
      {kProfile + ".linear.t0", kRoofline, "4 us", "8 us"},
      {kProfile + ".linear.bandwidth_efficiency", kRoofline, "0.9", "0.7"},
      {kProfile + ".linear.compute_efficiency.points[].size", recomputed(kRoofline), curve("linear", "4096", "0.9"),
       curve("linear", "8192", "0.9")},
      {kProfile + ".linear.compute_efficiency.points[].efficiency", recomputed(kRoofline),
       curve("linear", "4096", "0.9"), curve("linear", "4096", "0.8")},
      {kProfile + ".linear.compute_efficiency.source", kRoofline, "measurement", "publication", Effect::reported},
      {kProfile + ".linear.compute_efficiency.reference", kRoofline, "one", "two", Effect::reported},
      {kProfile + ".attention.t0", kRoofline, "10 us", "20 us"},
      {kProfile + ".attention.bandwidth_efficiency", kRoofline, "0.9", "0.7"},
      {kProfile + ".attention.compute_efficiency.points[].size", recomputed(kRoofline),
       curve("attention", "32768", "0.9"), curve("attention", "65536", "0.9")},
      {kProfile + ".attention.compute_efficiency.points[].efficiency", recomputed(kRoofline),
       curve("attention", "32768", "0.9"), curve("attention", "32768", "0.8")},
      {kProfile + ".attention.compute_efficiency.source", kRoofline, "measurement", "publication", Effect::reported},
      {kProfile + ".attention.compute_efficiency.reference", kRoofline, "one", "two", Effect::reported},
      {kProfile + ".attention.low_bit.elements_per_s", fetching(kRoofline), "1e9", "2e9"},
      {kProfile + ".attention.low_bit.blend_power",
       fetching({kProfile + "=datasheet-generic", kProfile + ".attention.low_bit.elements_per_s=1e9"}), "1", "2"},
      {kProfile + ".attention.further_query_share", fetching(kRoofline), "0.5", "1"},
      {kProfile + ".framework.workspace", kFull, "1 GB", "8 GB"},
      {kProfile + ".framework.full_kv_factor", kFull, "1", "1.4"},
      {kProfile + ".collective_library", {kProfile + "=h100-vllm", "cluster.gpu.tensor_parallel=2"}, "vllm", "nccl"},
      {kProfile + ".fused.norms", recomputed({kProfile + "=h100-vllm", "cluster.gpu.tensor_parallel=2"}), "false",
       "true"},
      {kProfile + ".fused.quantise", recomputed({kProfile + "=h100-vllm", "model.weight_bytes_per_parameter=1"}),
       "false", "true"},
      {kProfile + ".by_engine[].kernels", {}, by_engine("trtllm"), by_engine("sglang")},
      {kProfile + ".by_engine[].profile",
       {kProfile + "=h100-vllm", kProfile + ".engine_kernels=trtllm"},
       kProfile + ".by_engine=[{kernels: trtllm, profile: h100-trtllm}]",
       kProfile + ".by_engine=[{kernels: trtllm, profile: a100-vllm}]"},
      {kProfile + ".engine_kernels",
       {kProfile + "=h100-vllm", kProfile + ".by_engine=[{kernels: trtllm, profile: h100-trtllm}]"},
       "vllm",
       "trtllm"},
      {kProfile + ".captured_tokens", recomputed({kProfile + "=h100-vllm", "cluster.gpu.tensor_parallel=2"}),
       "512 tokens", "8192 tokens"},
      {kProfile + ".launch.graph", kNamed, "0 us", "300 us"},
      {kProfile + ".launch.kernel", recomputed(kNamed), "0 us", "2 ms"},
      {kProfile + ".launch.chunks_captured",
       recomputed({kProfile + "=h100-vllm", kProfile + ".launch.kernel=2 ms", "schedule.max_batched_tokens=256"}),
       "false", "true"},
      {kProfile + ".interference.kernels_to_gpu", kNamed, "0", "0.5"},
      {kProfile + ".interference.kernels_from_gpu", kSlowWrites, "0", "0.5"},
      {kProfile + ".interference.copies_to_gpu", kNamed, "0", "0.5"},
      {kProfile + ".interference.copies_from_gpu", kSlowWrites, "0", "0.5"},
      {kProfile + ".interference.kernels_at_most", kNamed, "0.1", "0.2", Effect::reported},
      {kProfile + ".interference.copies_at_most", kNamed, "0.1", "0.2", Effect::reported},
      {kProfile + ".launch.by_requests",
       drafting({kProfile + "=h100-vllm", kProfile + ".launch.kernel=2 ms", kProfile + ".captured_tokens=8 tokens"}),
       "false", "true"},
      {kProfile + ".drafts.pass", drafting(), "0 us", "2 ms"},
      {kProfile + ".drafts.vocabulary", drafting({"decode.drafter.type=eagle3-llama-3.1-8b"}), "0 us", "2 ms"},
      {kProfile + ".drafts.round", drafting(), "0 us", "2 ms"},
      {kProfile + ".drafts.request", drafting(), "0 us", "2 ms"},
      {kProfile + ".drafts.layer", drafting(), "0 us", "2 ms"},
      {kProfile + ".quantised.compressor", kQuantised, "one", "two", Effect::reported},
      {kProfile + ".quantised.layer", kQuantised, "0 us", "2 ms"},
      {kProfile + ".quantised.token", kQuantised, "0 us", "1 us"},
      {kProfile + ".quantised.elements_per_s", kQuantised, "1e9", "1e7"},
      {kProfile + ".quantised.low", kQuantised, "0", "0.5", Effect::reported},
      {kProfile + ".quantised.high", kQuantised, "1", "2", Effect::reported},
      {kProfile + ".iteration_overhead", kNamed, "0.5 ms", "1 ms"},
  };
  add_compression(rows);
  return rows;
}

}  // namespace kvsim::testing
