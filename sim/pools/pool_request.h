// A request on its way through two pools.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/paths/path.h"
#include "sim/engine/id_table.h"
#include "sim/engine/on_demand.h"
#include "sim/engine/time.h"
#include "sim/memory/kv_memory.h"
#include "sim/pools/storage_network.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/request.h"

namespace kvsim::pools {

class Site;

/// Where a drafting request's round is.
enum class Round : std::uint8_t {
  none,      ///< does not draft (yet, or any more)
  drafting,  ///< on the remote node
  sent,      ///< drafts on their way to the local node, or there and not being verified yet
  verifying  ///< in the local node's forward pass or its queue, or the verdict is on its way back
};

/// The full KV for a stateless request's next verification; how far it is, DraftRound::reload says.
struct ReloadWish {
  serving::Residence kv;
  std::int64_t bytes = 0;    ///< memory reserved for it
  engine::EventHandle look;  ///< in flight: whether its last layers are in time is looked at then
};

/// KV not sent with the compressed KV, of a request that goes on alone when the remote node has all of its KV
/// (P2).
struct RestOfKv {
  std::array<transport::TransferId, 2> transfers{};  ///< of its layers, in order; 0: none
  std::int64_t bytes_left = 0;                       ///< not sent yet
  std::int64_t layers_left = 0;
  bool there = false;  ///< all of it has reached the remote node
};

/// State of a request that has been assigned to nodes.
struct HeldOnNodes {
  std::vector<std::uint64_t> chain;  ///< of PoolRequest::blocks, the leading ones that the storage node had when it was
                                     ///< assigned, as far as nodes share them
  std::int64_t chain_tokens = 0;     ///< in these
  serving::Residence verified;       ///< full KV where drafts are verified; or only while a prompt is prefilled there
  ReloadWish reload;
  RestOfKv rest;
  engine::SimTime begun;  ///< this round
};

/// Request in the pools. State that only assigned requests have lies apart: many may wait at once.
struct PoolRequest {
  serving::Request* request = nullptr;
  std::uint64_t number = 0;  ///< RequestSpec::id, by which its acceptance is drawn
  Site* local = nullptr;
  Site* remote = nullptr;
  std::unique_ptr<HeldOnNodes> held;   ///< null: it waits
  const Site* preempted_at = nullptr;  ///< its latest KV was computed there and dropped

  engine::OnDemand<std::vector<std::uint64_t>> blocks;  ///< of its prompt, those that may be shared (whole blocks)
  std::int64_t stored = 0;          ///< tokens of the prompt on the storage node when it was assigned
  std::int64_t found = 0;           ///< these, or those in the node's memory if more: the rest is prefilled
  std::int64_t counted_tokens = 0;  ///< of its output, in the figures of its path

  int remote_parts = 0;  ///< loads of the remote node before it can draft
  int in_transit = 0;    ///< transfers under way that end in a claim of its
  models::Path path = models::Path::B1;
  Round round = Round::none;
  bool path_given = false;   ///< the dispatcher chose it on arrival; else when it can start
  bool awaited = false;      ///< a step waits for what is loaded of it (schedule.blocking_loads)
  bool local_ready = false;  ///< its full KV stays on the local node and is there
  bool local_left = false;   ///< the local node has done its part
  bool loaded = false;       ///< has begun to draft
  bool left = false;         ///< holds nothing any more

  [[nodiscard]] const models::PathTraits& traits() const { return models::traits(path); }
  /// Memory that it holds on its local node for good: what it decodes on, or what its drafts are verified against. On a
  /// remote node it has Request::kv.
  [[nodiscard]] serving::Residence& local_kv() const { return traits().on_remote ? held->verified : request->kv; }
  /// Reads its full KV anew for every verification.
  [[nodiscard]] bool stateless() const { return traits().drafts && !traits().cached; }
};

/// Requests under way.
using RequestTable = engine::IdTable<PoolRequest>;

// Bytes that a request needs on each path: memory on the nodes, and what crosses the links.

class RequestMemory {
 public:
  /// All of it outlives this. Bytes that cross a link are equal in both geometries. `block_tokens`: of a shared prefix
  /// block; 0: there are none.
  RequestMemory(const serving::ServingConfig& config, const serving::DecodePolicy& decode,
                const serving::KvGeometry& local, const serving::KvGeometry& remote, std::int64_t block_tokens);

  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }
  /// Whether blocks of prompts that a node has may serve several of its requests. KV that is streamed through it layer
  /// by layer is each request's own.
  [[nodiscard]] bool shares_blocks() const {
    return decode_.fetch != serving::Fetch::everything && local_.continues_anywhere(config_.model.max_context);
  }

  /// In which form a local node holds the prompt, from its assignment to its end: full where it verifies.
  [[nodiscard]] memory::KvForm local_form() const {
    return decode_.verifies || !decode_.holds_part() ? memory::KvForm::full : memory::KvForm::compressed;
  }
  /// Form in which the remote node holds the prompt on this path.
  [[nodiscard]] memory::KvForm remote_form(models::Path path) const {
    return models::traits(path).drafts ? memory::KvForm::compressed : local_form();
  }

  /// Memory of one shared block.
  [[nodiscard]] std::int64_t block_bytes(Pool pool, memory::KvForm form) const;

  /// Memory that a request with `blocks` shared blocks reserves for itself, from its assignment to its end: the rest of
  /// the prompt, all of its output and the drafts of one round, where there are any.
  [[nodiscard]] std::int64_t local_private(const PoolRequest& r, models::Path path, std::int64_t blocks) const {
    return decoded_private(r, Pool::local, path, blocks, output_held(r, path));
  }
  [[nodiscard]] std::int64_t remote_private(const PoolRequest& r, models::Path path, std::int64_t blocks) const {
    return remote_private(r, path, blocks, output_held(r, path));
  }
  /// The most of local_private() and remote_private(), whatever it takes at first.
  [[nodiscard]] std::int64_t most_private(const PoolRequest& r, models::Path path, Pool pool) const;
  /// Memory of the request once its prompt is there: prefilled KV has been compressed, where it is held so.
  [[nodiscard]] std::int64_t decoding_private(const PoolRequest& r, Pool pool, models::Path path,
                                              std::int64_t blocks) const {
    return decoding_private(r, pool, path, blocks, output_held(r, path));
  }
  /// Memory of one reload (stateless), and the most that any reload of this request takes.
  [[nodiscard]] std::int64_t reload_private(const PoolRequest& r) const;
  [[nodiscard]] std::int64_t largest_reload(const PoolRequest& r) const;

  // Bytes that cross a link. An auxiliary drafter's KV is stored beside the full KV and goes with what is decoded or
  // drafted on, not with what is verified against. (Memory for it is kept there, too, as blocks may serve both.)
  /// `tokens` of the prompt in this form, to be decoded or drafted on; as stored; as verified against.
  [[nodiscard]] std::int64_t transfer(const PoolRequest& r, memory::KvForm form, std::int64_t tokens) const;
  [[nodiscard]] std::int64_t stored_transfer(std::int64_t tokens) const { return local_.stored_transfer(tokens); }
  [[nodiscard]] std::int64_t full_transfer(std::int64_t tokens) const { return local_.full_transfer(tokens); }
  /// `tokens` of the prompt to its local node.
  [[nodiscard]] std::int64_t local_transfer(const PoolRequest& r, std::int64_t tokens) const {
    return r.traits().drafts ? full_transfer(tokens) : transfer(r, local_form(), tokens);
  }
  /// Bytes that P2 sends after the compressed KV.
  [[nodiscard]] std::int64_t rest_transfer(const PoolRequest& r) const;

 private:
  /// Drafts on quantised KV read what it was decompressed to on arrival.
  [[nodiscard]] bool decompresses() const {
    return decode_.verifies && config_.decode.compressor.kind != models::CompressionKind::token_dropping;
  }
  /// Memory of a prompt and `output` tokens after it without drafts, in the form in which steps of this policy read it.
  [[nodiscard]] std::int64_t compressed_private(const PoolRequest& r, Pool pool, std::int64_t blocks,
                                                std::int64_t output, std::int64_t room) const;
  /// Tokens of its output that its memory has room for: where memory grows with tokens, those that are out.
  [[nodiscard]] std::int64_t output_held(const PoolRequest& r, models::Path path) const {
    return config_.schedule.reserves_prompt() && !models::traits(path).drafts ? r.request->generated
                                                                              : r.request->output;
  }
  [[nodiscard]] const serving::KvGeometry& geometry(Pool pool) const { return pool == Pool::local ? local_ : remote_; }
  /// On a node where it decodes or its drafts are verified.
  [[nodiscard]] std::int64_t decoded_private(const PoolRequest& r, Pool pool, models::Path path, std::int64_t blocks,
                                             std::int64_t output) const;
  [[nodiscard]] std::int64_t remote_private(const PoolRequest& r, models::Path path, std::int64_t blocks,
                                            std::int64_t output) const;
  [[nodiscard]] std::int64_t decoding_private(const PoolRequest& r, Pool pool, models::Path path, std::int64_t blocks,
                                              std::int64_t output) const;

  const serving::ServingConfig& config_;
  const serving::DecodePolicy& decode_;
  const serving::KvGeometry &local_, &remote_;  // of the pools' nodes
  std::int64_t block_tokens_;
  std::int64_t draft_room_;     // tokens of the longest round, the verifier's own among them
  std::int64_t decoding_room_;  // beyond the output, of a step that decodes
};

}  // namespace kvsim::pools
