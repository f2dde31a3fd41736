#include "sim/reuse/scoring_room.h"

#include <fmt/format.h>

#include "sim/reuse/prompt_assembly.h"
#include "sim/serving/capacity.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::reuse {

std::int64_t scorer_memory(const serving::ServingConfig& config) {
  const serving::ClusterConfig& c = config.cluster;
  return static_cast<std::int64_t>(static_cast<double>(c.gpu.memory_bytes.value) * c.memory_fraction) -
         c.activation_bytes;
}

std::string scoring_problem(const serving::ServingConfig& config, const ReuseTimes& times, std::int64_t prompt,
                            std::int64_t output, std::int64_t kv_bytes) {
  if (!chooses_tokens(*config.reuse)) return {};
  const models::SpeculativeSpec& scorer = config.reuse->speculative;
  const models::LlmSpec& small = scorer.model;
  const std::int64_t tokens = times.small_tokens(prompt);
  if (tokens > small.max_context) {
    return fmt::format("has a prompt of {} tokens for the speculative model, {} allows {}", tokens, small.name,
                       small.max_context);
  }
  if (scorer.gpus > 0) {
    const std::int64_t room = scorer_memory(config) - small.weight_bytes();
    const std::int64_t kv = tokens * small.kv_bytes_per_token();
    if (kv <= room) return {};
    return fmt::format("needs {} bytes of KV memory on a GPU of {}, which leaves {}", kv, small.name, room);
  }
  // It may be pushed out before its last token, and has to be let in again with all that it has generated.
  const std::int64_t room = serving::draft_room(config.decode, *serving::find_decode_policy(config.decode.policy)) - 1;
  const std::int64_t need =
      serving::replica_geometry(config).full_reservation(prompt + output + room) + times.scoring_bytes(prompt);
  if (need <= kv_bytes) return {};
  return fmt::format("needs {} bytes of KV memory while {} scores its prompt, a replica has {}", need, small.name,
                     kv_bytes);
}

}  // namespace kvsim::reuse
