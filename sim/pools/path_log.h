// Record of requests between pools: as of any request, and by path.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/pools/pool_request.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request_log.h"

namespace kvsim::pools {

class PathLog {
 public:
  /// All of it outlives the log.
  PathLog(const engine::Simulator& simulator, const serving::ServingConfig& config, serving::Measurements& measured)
      : log_(simulator, config, measured), measured_(measured) {}

  /// Ends the warm-up; forget() follows for every request, which is up to date.
  void start_measuring() { log_.start_measuring(); }
  static void forget(PoolRequest& r) { r.counted_tokens = r.request->generated; }

  /// It has its path and nodes.
  void started(const PoolRequest& r) { sums(r).started += 1; }
  /// `tokens` of its prompt are loaded to where it has memory; of the blocks that it shares, some are there or on their
  /// way.
  void loads(const serving::Residence& kv, std::int64_t tokens, std::int64_t block_tokens) {
    serving::PrefixMeasurement& prefix = measured_.prefix;
    prefix.loaded_tokens += tokens;
    prefix.on_node_tokens += kv.chain().present * block_tokens;
    prefix.joined_tokens += kv.chain().joined * block_tokens;
  }
  /// The part of its prompt that was not stored has been computed.
  void prefilled(const PoolRequest& r) { measured_.prefix.prefilled_tokens += r.request->prompt - r.found; }
  /// Its prompt's KV is available: it decodes or drafts.
  void decodes(PoolRequest& r) {
    r.request->phase = serving::Phase::decoding;
    if (std::exchange(r.request->full_kv.had_prompt, true)) return;
    r.request->round.unseen = 1;  // the prompt was read, or its KV loaded, with the drafter's
    measured_.prompt_tokens += r.request->prompt;
  }
  /// One token by an ordinary step or a prompt's last chunk.
  void emitted_directly(PoolRequest& r) {
    log_.emitted_directly(*r.request);
    count_tokens(r);
  }
  /// Those of a request that is up to date which were not counted yet.
  void count_tokens(PoolRequest& r) {
    sums(r).output_tokens += r.request->generated - r.counted_tokens;
    forget(r);
  }
  /// A verification accepted so many of its drafts, or of tokens that were proposed for its step; returns the tokens
  /// that became final.
  std::int64_t verified(PoolRequest& r, std::int64_t drafted, std::int64_t accepted) {
    const std::int64_t emitted = log_.verified(*r.request, drafted, accepted);
    count_tokens(r);
    return emitted;
  }
  void finished(PoolRequest& r, const serving::OutputFidelity& fidelity) {
    log_.finished(*r.request, fidelity);
    count_tokens(r);
    sums(r).completed += 1;
  }

 private:
  [[nodiscard]] serving::PathMeasurement& sums(const PoolRequest& r) {
    return measured_.paths.at(models::index_of(r.path));
  }

  serving::RequestLog log_;
  serving::Measurements& measured_;
};

}  // namespace kvsim::pools
