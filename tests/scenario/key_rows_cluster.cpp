#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

/// A link without collectives: its own figures count.
const Sets kSixteen = {"cluster.gpu.tensor_parallel=16", "cluster.gpu.peer_link=ethernet-100g"};
/// The same between nodes.
const Sets kTwoNodes = {"cluster.gpu.tensor_parallel=16", "cluster.node={gpus: 8, link: ethernet-100g}"};
/// Routed experts with fitted times, on four GPUs.
const Sets kExpertModel = {
    "model=qwen3-30b-a3b",      "cluster.gpu.type=h200",   "cluster.gpu.tensor_parallel=4", "prefill=recompute",
    "decode={policy: full_kv}", "schedule={policy: fcfs}", "cluster.gpu.profile=h200-vllm"};
const Sets kExpertParts = {kExpertModel[0], kExpertModel[1], kExpertModel[2], kExpertModel[3],
                           kExpertModel[4], kExpertModel[5], kExpertModel[6], "cluster.gpu.expert_parallel=4"};
const Sets kPair = {"cluster.gpu.tensor_parallel=2"};

void add_collectives(std::vector<KeyRow>& rows, const std::string& link, const std::vector<std::string>& base,
                     bool used) {
  const auto with = [&link](const std::string& of, const std::string& points, const std::string& source = "") {
    return link + ".collectives=[{" + of + ", points: [{bytes: 1 KiB, seconds: 5 us}, " + points + "}]" + source + "}]";
  };
  const Effect timed = used ? Effect::measured : Effect::none_yet;
  const Effect named = used ? Effect::reported : Effect::none_yet;
  const std::string key = link + ".collectives[]", point = "{bytes: 1 MiB, seconds: 1 ms";
  const std::string one = with("gpus: 2", point), slow = "points: [{bytes: 1 KiB, seconds: 500 us}]";
  rows.push_back({key + ".operation", base, one, with("gpus: 2, operation: all_gather", point), timed});
  const auto second = [&](const char* library) {
    return link + ".collectives=[{gpus: 2, library: third, " + slow + "}, {gpus: 2, library: " + library +
           ", points: [{bytes: 1 KiB, seconds: 5 us}]}]";
  };
  rows.push_back({key + ".library", base, second("vllm"), second("other"), timed});
  rows.push_back({key + ".gpus", base, one, with("gpus: 4", point), timed});
  rows.push_back({key + ".points[].bytes", base, one, with("gpus: 2", "{bytes: 2 MiB, seconds: 1 ms"), timed});
  rows.push_back({key + ".points[].seconds", base, one, with("gpus: 2", "{bytes: 1 MiB, seconds: 1.5 ms"), timed});
  rows.push_back({key + ".source", base, with("gpus: 2", point, ", source: assumption"),
                  with("gpus: 2", point, ", source: scenario"), named});
  rows.push_back({key + ".reference", base, with("gpus: 2", point, ", source: measurement, reference: one"),
                  with("gpus: 2", point, ", source: measurement, reference: two"), named});
}

}  // namespace

void add_link_tables(std::vector<KeyRow>& rows, const std::string& link, const std::vector<std::string>& base,
                     bool used) {
  const auto with = [&link](const char* method) { return link + ".gathers=[" + method + "]"; };
  const std::string one = with("{name: one, per_row: 1 us, bandwidth: 1 GB/s}");
  const Effect named = used ? Effect::reported : Effect::none_yet;
  const Effect timed = used ? Effect::measured : Effect::none_yet;
  const std::string key = link + ".gathers[]";
  rows.push_back({key + ".name", base, one, with("{name: two, per_row: 1 us, bandwidth: 1 GB/s}"), named});
  rows.push_back({key + ".per_row", base, one, with("{name: one, per_row: 9 us, bandwidth: 1 GB/s}"), timed});
  rows.push_back({key + ".bandwidth", base, with("{name: one, per_row: 1 ns, bandwidth: 1 GB/s}"),
                  with("{name: one, per_row: 1 ns, bandwidth: 2 GB/s}"), timed});
  const bool peers = link == "cluster.gpu.peer_link";
  add_collectives(rows, link, peers ? kPair : base, peers || link == "cluster.node.link");
}

std::vector<KeyRow> cluster_rows() {
  std::vector<KeyRow> rows{
      {"cluster.replicas", {}, "1", "2"},
      {"cluster.router",
       {"cluster.replicas=2", "workload.output={distribution: exponential, mean: 200 tokens}"},
       "least_loaded",
       "round_robin"},
      {"cluster.gpu.kv_tokens", {}, "160k tokens", "40k tokens"},
      {"cluster.gpu.kv_blocks", {}, "10000", "2500"},
      {"cluster.gpu.kv_bytes", {}, "20 GB", "5 GB"},
      {"cluster.gpu.type.name", {}, "one", "two", Effect::reported},
      {"cluster.gpu.type.description", {}, "one", "two", Effect::shown},
      {"cluster.gpu.type.memory", {}, "80 GB", "45 GB"},
      {"cluster.gpu.type.memory_bandwidth", {}, "3350 GB/s", "2000 GB/s"},
      {"cluster.gpu.type.bf16_peak", recomputed(), "900 TFLOP/s", "500 TFLOP/s"},
      {"cluster.gpu.type.fp8_peak", recomputed({"model.weight_bytes_per_parameter=1"}), "1979 TFLOP/s", "1200 TFLOP/s"},
      {"cluster.gpu.type.fp4_peak", recomputed({"model.weight_bytes_per_parameter=0.5625"}), "2000 TFLOP/s",
       "4000 TFLOP/s"},
      {"cluster.gpu.type.multiprocessors", {fitted_profile()}, "132", "66"},
      {"cluster.gpu.type.l2_cache", recomputed({fitted_profile()}), "50 MiB", "5 MiB"},
      {"cluster.gpu.type.board_power", {}, "700 W", "350 W", Effect::reported},
      {"cluster.gpu.type.architecture",
       {"cluster.gpu.type=h200", fitted_profile()},
       "ampere",
       "hopper",
       Effect::reported},
      {"cluster.gpu.type.host_link", {"cluster.host={memory: 512 GiB}"}, "pcie5-x16", "pcie4-x16"},
      {"cluster.gpu.type.peer_link", {"cluster.gpu.tensor_parallel=16"}, "nvlink4", "nvlink3"},
      {"cluster.gpu.type.profile", {}, "h100-vllm", "a100-vllm"},
      {"cluster.gpu.tensor_parallel", {}, "1", "2"},
      {"cluster.gpu.attention_data_parallel", kExpertModel, "1", "2"},
      {"cluster.gpu.expert_parallel", kExpertModel, "1", "4"},
      {"cluster.gpu.expert_imbalance", kExpertParts, "1", "9"},
      {"cluster.gpu.pipeline_parallel", kExpertModel, "1", "2"},
      {"cluster.gpu.memory_fraction", {}, "0.5", "0.26"},
      {"cluster.gpu.activations", {}, "0 B", "20 GB"},
      {"cluster.gpu.peer_link.name", kSixteen, "one", "two", Effect::reported},
      {"cluster.gpu.peer_link.description", kSixteen, "one", "two", Effect::shown},
      {"cluster.gpu.peer_link.kind", kSixteen, "peer", "network", Effect::none_yet},
      {"cluster.gpu.peer_link.read", kSixteen, "300 GB/s", "10 GB/s"},
      {"cluster.gpu.peer_link.write", kSixteen, "300 GB/s", "10 GB/s", Effect::listed},
      {"cluster.gpu.peer_link.both_ways", kSixteen, "300 GB/s", "400 GB/s", Effect::listed},
      {"cluster.gpu.peer_link.latency", kSixteen, "1 us", "10 us"},
      {"cluster.gpu.peer_link.setup", kSixteen, "1 us", "10 us", Effect::listed},
      {"cluster.host.memory", {}, "512 GiB", "5 GB"},
      {"cluster.node.gpus", {"cluster.host={link: pcie5-x16}", "cluster.node={gpus: 1, memory: 40 GB}"}, "1", "8"},
      {"cluster.node.memory", {"cluster.host={link: pcie5-x16}", "cluster.node={gpus: 1}"}, "512 GiB", "5 GB"},
      {"cluster.node.link.name", kTwoNodes, "one", "two", Effect::reported},
      {"cluster.node.link.description", kTwoNodes, "one", "two", Effect::shown},
      {"cluster.node.link.kind", kTwoNodes, "peer", "network", Effect::none_yet},
      {"cluster.node.link.read", kTwoNodes, "300 GB/s", "10 GB/s"},
      {"cluster.node.link.write", kTwoNodes, "300 GB/s", "10 GB/s", Effect::listed},
      {"cluster.node.link.both_ways", kTwoNodes, "300 GB/s", "400 GB/s", Effect::listed},
      {"cluster.node.link.latency", kTwoNodes, "1 us", "10 us"},
      {"cluster.node.link.setup", kTwoNodes, "1 us", "10 us", Effect::listed},
      {"cluster.node.price", {"cluster.node={gpus: 8}"}, "20 USD/h", "30 USD/h", Effect::reported},
      {"cluster.host.link.name", {}, "one", "two", Effect::shown},
      {"cluster.host.link.description", {}, "one", "two", Effect::shown},
      {"cluster.host.link.kind", {}, "host", "network", Effect::none_yet},
      {"cluster.host.link.read", {}, "55 GB/s", "20 GB/s"},
      {"cluster.host.link.write", {}, "55 GB/s", "0.1 GB/s"},
      {"cluster.host.link.both_ways", {"cluster.host.link.write=20 GB/s"}, "100 GB/s", "21 GB/s"},
      {"cluster.host.link.latency", {}, "1 us", "1 ms"},
      {"cluster.host.link.setup", {}, "1 us", "1 ms"},
      {"cluster.host.discipline", {}, "serialised", "fair_share"},
  };
  add_link_tables(rows, "cluster.gpu.peer_link", kSixteen);
  add_link_tables(rows, "cluster.host.link", fetching(), true);
  add_link_tables(rows, "cluster.node.link", kTwoNodes);
  return rows;
}

}  // namespace kvsim::testing
