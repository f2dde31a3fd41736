// One node: a tensor-parallel group of GPUs with its memory, which computes whatever its requests need next, iteration
// by iteration. It knows nothing of paths; what follows from a finished step is its owner's business.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "sim/machine/gpu_group.h"
#include "sim/memory/kv_memory.h"
#include "sim/pools/storage_network.h"
#include "sim/serving/measurements.h"
#include "sim/serving/replica_environment.h"
#include "sim/serving/request.h"
#include "sim/serving/step_loop.h"
#include "sim/serving/step_parts.h"

namespace kvsim::pools {

using serving::Work;

class Node;

/// What all nodes share; all of it outlives them.
struct NodeEnvironment : serving::GroupEnvironment {
  std::vector<Node*>& changed;  ///< see Node::touch()
};

/// Hears what nodes have computed.
class StepListener {
 public:
  virtual ~StepListener() = default;
  /// What a request of a node's step did by itself. Of tokens that an auxiliary drafter proposed for it, `accepted`
  /// were kept.
  virtual void on_step(Node& node, const serving::StepEntry& entry, std::int64_t accepted) = 0;
  /// So many requests have each decoded a token in step, `gap` after the one before: they are not told.
  virtual void on_decoded_together(std::int64_t requests, engine::Duration gap) = 0;
  /// One that decoded or drafted in step has all of its tokens; it is up to date, and not there any more.
  virtual void on_steady_over(Node& node, serving::Request& request, Work work) = 0;
  /// KV of a chunk of the request's prompt, one of KvMoving::writebacks, has left a node whose steps fetch KV.
  virtual void on_offloaded(Node& node, std::uint64_t request) = 0;
};

class Node final : private serving::StepLoopOwner {
 public:
  Node(const NodeEnvironment& environment, StepListener& listener, Pool pool, std::size_t index,
       std::int64_t kv_capacity_bytes, const StorageNetwork& network);

  /// Decoding or drafting from the next iteration on, until it is stopped.
  void start(serving::Request& request, Work work);
  /// What it has come to is written in it.
  void stop(serving::Request& request);
  /// One of the other kinds of work, once, after what was queued before.
  void enqueue(serving::Request& request, Work task);
  /// Its verification, likewise, while the last of its full KV is on its way: arrived() follows, and the step ends when
  /// the last layer, which needs that, can have run.
  void verify_as_it_arrives(serving::Request& request);
  void arrived(const serving::Request& request) { loop_.arrived(request); }
  /// Its prompt, in chunks, after everything else; at the end, so many of its tokens are compressed.
  void prefill(serving::Request& request, std::int64_t compressed);

  /// Writes into a request what it has come to; between two calls it may lag behind.
  void update(serving::Request& request) { loop_.steady().update(request); }

  [[nodiscard]] Pool pool() const { return pool_; }
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] memory::KvMemory& memory() {  // to change it
    touch();
    return memory_;
  }
  [[nodiscard]] const memory::KvMemory& memory() const { return memory_; }
  [[nodiscard]] const machine::GpuGroup& gpus() const { return loop_.gpus(); }

  void start_measuring();
  void finish_measuring();
  void check_conservation() const { memory_.check_conservation(); }

  // Who is here, assigned for good and not finished; and who is verified here with its full KV read anew each round.
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  [[nodiscard]] std::int64_t stateless() const { return stateless_; }
  /// What speaks for or against it as a place for a request may have changed: it is put into NodeEnvironment::changed,
  /// once until it is looked_at().
  void touch() {
    if (!std::exchange(touched_, true)) env_.changed.push_back(this);
  }
  void looked_at() { touched_ = false; }
  void count_requests(std::int64_t change);
  void count_stateless(std::int64_t change);

 private:
  struct Prompt {
    serving::Request* request;
    std::int64_t compressed;
  };

  bool decide() override;
  [[nodiscard]] std::span<serving::Request* const> decoding() const override { return decoding_; }
  bool compose() override;
  [[nodiscard]] bool only_steady() const override { return tasks_.empty() && prompts_.empty(); }
  void start(machine::Step step) override;
  void idle(bool) override {}
  void on_step_ended() override { on_steady_step_ended(); }
  void on_steady_step_ended() override;
  void apply() override;
  void batch(std::size_t prompts);
  [[nodiscard]] serving::StepPart part_of(const serving::StepEntry& entry, std::int64_t budget) const;
  [[nodiscard]] static std::int64_t tokens_of(const serving::StepEntry& task);
  void apply(const serving::StepEntry& entry);
  void note_waiting();
  void on_offloaded(std::uint64_t request) { listener_.on_offloaded(*this, request); }

  const NodeEnvironment& env_;
  StepListener& listener_;
  Pool pool_;
  std::size_t index_;
  memory::KvMemory memory_;
  serving::StepLoop loop_;
  serving::PoolMeasurement sums_;
  std::vector<serving::StepEntry> alone_;  // decoding or drafting, and not in step; in order of their start
  std::uint64_t starts_ = 0;
  std::vector<serving::Request*> decoding_;  // of the step, where a drafter proposes for them; kept for its memory
  std::deque<serving::StepEntry> tasks_;
  std::deque<Prompt> prompts_;
  std::size_t known_prompts_ = 0;        // of these, there when the last iteration began
  bool decided_ahead_ = false;           // the coming iteration was decided when the last one began
  std::vector<serving::Request*> over_;  // of one step; kept for its memory
  std::int64_t requests_ = 0, stateless_ = 0;
  bool touched_ = false;
};

}  // namespace kvsim::pools
