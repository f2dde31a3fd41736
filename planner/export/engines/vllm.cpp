// vLLM: a command line in a shell script.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "planner/export/engine_export.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner {
namespace {

constexpr std::string_view kCheckedVllm =
    "Option names checked in vLLM's engine arguments (vllm/engine/arg_utils.py, and vllm/config/cache.py at commit "
    "002f10e0cfa1 of vllm-project/vllm).";
constexpr std::array<std::int64_t, 2> kBlockSizes{16, 32};  // that every CUDA attention backend of vLLM takes
constexpr double kUtilisationSteps = 1000;                  // three decimals

/// "org/name" of the repository that the catalogue read the architecture from; empty where its source names none.
std::string repository(const models::LlmSpec& model) {
  const std::string& reference = model.source.reference;
  const std::size_t end = reference.find(" config.json, Hugging Face");
  if (end == std::string::npos) return {};
  const std::string id = reference.substr(0, end);
  const bool plain = std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '/' || c == '-' || c == '.' || c == '_';
  });
  return plain && std::count(id.begin(), id.end(), '/') == 1 ? id : std::string();
}

std::string model_lines(const models::LlmSpec& model) {
  const std::string id = repository(model);
  if (id.empty()) {
    return comment(fmt::format("scenario: model {}, whose weights the catalogue does not name: put their path here",
                               model.name)) +
           "MODEL=\"${MODEL:-CHANGE-ME}\"\n";
  }
  return comment(fmt::format("scenario: model {}; the repository its architecture was read from. Set MODEL for another "
                             "variant (instruction-tuned, quantised) of the same architecture",
                             model.name)) +
         fmt::format("MODEL=\"${{MODEL:-{}}}\"\n", id);
}

class Arguments {
 public:
  void add(const std::string& argument, const std::string& origin) {
    text_ += comment(origin, "  ") + "  " + argument + "\n";
  }
  void say(const std::string& remark) { text_ += comment(remark, "  "); }
  [[nodiscard]] std::string take() const { return "args=(\n" + text_ + ")\n"; }

 private:
  std::string text_;
};

/// Rounded down: never above the plan's.
double utilisation(double fraction) {
  return std::floor(fraction * kUtilisationSteps + 1e-9) / kUtilisationSteps;
}

void add_requests(Arguments& args, const ExportedPlan& plan) {
  const std::int64_t requests = full_kv_requests(plan);
  const bool planned = plan.point.x == 0 || (!plan.open_batch && requests == plan.point.batch.requests());
  args.add(fmt::format("--max-num-seqs {}", requests),
           planned
               ? "plan: requests at once"
               : fmt::format("plan: full-KV requests that fit at once. Those of the plan ({}) fit with compressed KV "
                             "only; more than fit would be preempted and computed again",
                             plan.requests()));
}

void add_lengths(Arguments& args, const scenario::Scenario& s) {
  const std::int64_t fits = serving::kv_capacity(s.serving, s.serving.cluster.uniform()).context_tokens;
  const std::int64_t wanted = longest_request(s);
  const std::int64_t length = std::max<std::int64_t>(1, std::min(wanted, fits));
  args.add(fmt::format("--max-model-len {}", length),
           length < wanted
               ? fmt::format("plan: KV memory holds {} tokens; the longest request may have {}", fits, wanted)
               : "scenario: the longest prompt and output of the workload, within the model's limit");
  args.add(fmt::format("--max-num-batched-tokens {}", s.serving.schedule.max_batched_tokens),
           "scenario: schedule.max_batched_tokens");
}

void add_kv(Arguments& args, const scenario::Scenario& s, const ExportedPlan& plan) {
  const serving::ServingConfig& c = s.serving;
  const std::int64_t block = c.schedule.block_tokens;
  if (std::find(kBlockSizes.begin(), kBlockSizes.end(), block) != kBlockSizes.end()) {
    args.add(fmt::format("--block-size {}", block), "scenario: schedule.block_size");
  } else {
    args.say(fmt::format("schedule.block_size is {}, which not every attention backend has: left to vLLM", block));
  }
  if (c.model.kv_bytes_per_element == 1.0) {
    args.add("--kv-cache-dtype fp8", "scenario: model.kv_bytes_per_element is 1");
  }
  if (uses_host_memory(s, plan)) {
    args.add("--kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'",
             "plan: KV lives in host memory, by LMCache; its size is in lmcache.yaml (--export lmcache)");
  }
}

std::string write_vllm(const scenario::Scenario& s, const ExportedPlan& plan) {
  const serving::ServingConfig& c = s.serving;
  Arguments args;
  args.add(fmt::format("--tensor-parallel-size {}", c.cluster.uniform().parallel.tensor),
           "scenario: cluster.gpu.tensor_parallel");
  args.add(fmt::format("--gpu-memory-utilization {:g}", utilisation(c.cluster.uniform().memory_fraction)),
           "scenario: cluster.gpu.memory_fraction, rounded down");
  add_requests(args, plan);
  add_lengths(args, s);
  add_kv(args, s, plan);
  if (c.model.weight_bytes_per_parameter == 1.0) {
    args.say("scenario: weights of 1 byte per parameter: MODEL must be an fp8 checkpoint");
  }
  std::string text = "#!/usr/bin/env bash\n" + heading(s, plan, "vLLM", kCheckedVllm) + "#\n" + left_out(s, plan);
  text += "set -eu\n\n" + model_lines(c.model);
  if (uses_host_memory(s, plan)) {
    text += comment("LMCache reads its settings from this file");
    text += "export LMCACHE_CONFIG_FILE=\"${LMCACHE_CONFIG_FILE:-$(dirname \"$0\")/lmcache.yaml}\"\n";
  }
  return text + "\n" + args.take() + "exec vllm serve \"$MODEL\" \"${args[@]}\" \"$@\"\n";
}

}  // namespace

extern const EngineExport vllm_export;
const EngineExport vllm_export{"vllm", "vllm.sh", "vLLM: a script that starts the server", write_vllm};

}  // namespace kvsim::planner
