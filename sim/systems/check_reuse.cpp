// Checks of configurations whose prompts are put together from chunks.
#include <fmt/format.h>

#include "sim/reuse/reuse_times.h"
#include "sim/serving/configuration_error.h"
#include "sim/systems/checks.h"

namespace kvsim::systems {
namespace {

using serving::ConfigurationError;

/// Checks what may be done with prompts that were put together from chunks.
void check_decode_of_chunks(const serving::ServingConfig& config) {
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  if (decode.name == "full_kv") return;
  if (decode.name != "draft_verify") {
    throw ConfigurationError(
        "decode.policy",
        decode.drafter ? fmt::format("{} has an auxiliary drafter, and nothing is known of how the drafter's own KV of "
                                     "a chunk could be reused behind other chunks: use full_kv or draft_verify",
                                     decode.name)
                       : fmt::format("prompts of chunks are continued with the KV as it was put together, and {} "
                                     "decodes otherwise: use full_kv, or draft_verify to verify against whole prompts",
                                     decode.name));
  }
  if (config.decode.acceptance.kind == models::AcceptanceKind::compressor) {
    throw ConfigurationError("decode.acceptance",
                             "nothing is published of how drafts on reused chunks agree with whole prompts: give "
                             "decode.acceptance, such as {model: constant, agreement: 0.95}");
  }
}

}  // namespace

void check_reuse(const serving::ServingConfig& config) {
  check_decode_of_chunks(config);
  check_tiered_replicas(config);
  if (!config.reuse) throw ConfigurationError("prefill", "says nothing about the reuse of chunks");
  if (config.tasks.empty()) {
    throw ConfigurationError("workload.tasks", "there is no task whose quality prompts of chunks could have: name one");
  }
  const bool from_file = config.reuse->importance.source == models::ImportanceSource::file;
  if (from_file && (!config.scored_prompts || config.scored_prompts->empty())) {
    throw ConfigurationError("prefill.importance.path", "its prompts have not been read");
  }
  const models::SpeculativeSpec& small = config.reuse->speculative;
  if (config.prefill == serving::PrefillKind::selective && small.gpus > 0) {
    const auto room = reuse::scorer_memory(config), weights = small.model.weight_bytes();
    if (weights >= room) {
      throw serving::ModelDoesNotFit(
          "prefill.speculative.model",
          fmt::format("{} does not fit on a GPU of its own: {:.1f} GB of weights, {} leaves {:.1f} GB at "
                      "memory_fraction {:g}",
                      small.model.name, static_cast<double>(weights) * 1e-9, config.cluster.uniform().gpu.name,
                      static_cast<double>(room) * 1e-9, config.cluster.uniform().memory_fraction));
    }
  }
  const bool shares = config.prefill == serving::PrefillKind::selective && small.gpus == 0;
  if (shares && small.model.heads % config.cluster.uniform().parallel.tensor != 0) {
    throw serving::UnsuitableMachine(
        "prefill.speculative.model",
        fmt::format("{} attention heads of {} cannot be sharded evenly over the replica's {} GPUs: give it GPUs of its "
                    "own (prefill.speculative.gpus)",
                    small.model.heads, small.model.name, config.cluster.uniform().parallel.tensor));
  }
}

}  // namespace kvsim::systems
