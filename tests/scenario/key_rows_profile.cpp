#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

using Sets = std::vector<std::string>;

const std::string kProfile = "cluster.gpu.profile";
const Sets kNamed = {kProfile + "=h100-vllm"};
/// Nothing but rooflines, which fitted forms take the place of.
const Sets kRoofline = {kProfile + "=datasheet-generic"};
const Sets kFull = {kProfile + "=datasheet-generic", "decode.policy=full_kv", "schedule.policy=fcfs"};

std::string curve(const char* operation, const char* size, const char* efficiency) {
  return kProfile + "." + operation + ".compute_efficiency={points: [{size: 1, efficiency: 0.2}, {size: " + size +
         ", efficiency: " + efficiency + "}]}";
}

}  // namespace

std::vector<KeyRow> profile_rows() {
  return {
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
      {kProfile + ".captured_tokens", recomputed({kProfile + "=h100-vllm", "cluster.gpu.tensor_parallel=2"}),
       "512 tokens", "8192 tokens"},
      {kProfile + ".iteration_overhead", kNamed, "0.5 ms", "1 ms"},
  };
}

}  // namespace kvsim::testing
