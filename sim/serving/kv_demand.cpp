#include "sim/serving/kv_demand.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"

#include <algorithm>

namespace kvsim::serving {

KvDemand::KvDemand(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                   std::int64_t prefix_tokens)
    : config_(config),
      decode_(decode),
      geometry_(geometry),
      draft_room_(serving::draft_room(config.decode, decode)),
      proposed_(most_proposed(config.decode, decode)),
      prefix_tokens_(prefix_tokens) {}

std::int64_t KvDemand::decoding(const Request& r) const {
  if (r.full_kv.direct) return geometry_.full_reservation(r.attended() + 1 + proposed_);
  if (decode_.as_found()) return geometry_.full_reservation(r.attended() + draft_room_);
  if (holds_part(r) || !decode_.verifies) {
    const std::int64_t generated = config_.schedule.reserves_output() ? r.output - 1 : r.generated;  // of its last step
    return decoding_reservation(decode_, geometry_, r.prompt - r.prefix->dropped, generated, draft_room_);
  }
  const std::int64_t full = geometry_.full_reservation(r.context() + draft_room_);
  // A resident request that drafts on quantised KV keeps that copy too; kept tokens are part of the full KV.
  return full + geometry_.redundant_reservation(r.prompt, r.generated);
}

std::int64_t KvDemand::admission(const Request& r) const {
  if (r.prefill.assembly) return decoding(r) + r.prefill.assembly->scoring_bytes;
  if (loadable_tokens(r) > 0 || !holds_part(r)) return decoding(r);
  return geometry_.full_reservation(r.context() + draft_room_);
}

std::int64_t KvDemand::resident(const Request& r) const {
  return geometry_.full_reservation(r.prompt + r.output + draft_room_) +
         geometry_.redundant_reservation(r.prompt, r.output);
}

std::int64_t KvDemand::most(const Request& r, std::int64_t beside) const {
  const std::int64_t whole = geometry_.full_reservation(r.prompt + r.output + draft_room_);
  if (!decode_.holds_part()) return whole + beside;
  std::int64_t need = geometry_.compressed_reservation(r.prompt, r.output, draft_room_);
  if (decode_.verifies) need += geometry_.reload_reservation(r.prompt, r.output);
  return config_.prefill == PrefillKind::recompute ? std::max(need, whole) : need;
}

std::int64_t KvDemand::in_host(const Request& r) const {
  return host_reservation(config_, decode_, geometry_, r.prompt, r.output);
}

}  // namespace kvsim::serving
