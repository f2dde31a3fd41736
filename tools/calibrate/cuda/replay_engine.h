// The forward passes of the replay: real weights, real KV, real copies; only the activations are not handed on from one
// operator to the next, which changes no time.
#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "tools/calibrate/cuda/attention_runner.h"
#include "tools/calibrate/cuda/blas.h"
#include "tools/calibrate/cuda/session.h"
#include "tools/calibrate/host/replay.h"

namespace kvsim::calibrate {

class ReplayEngine {
 public:
  /// Memory for `slots` full KVs and `requests` compressed ones, all filled.
  ReplayEngine(const Session& session, const ReplaySize& size, int requests, int slots);

  /// Gets products and tables ready for a schedule.
  void prepare(const ReplaySchedule& schedule);
  /// Puts iteration `t` onto the stream.
  void forward(int t, const Stream& stream) const;
  /// Puts the reload of a slot onto the stream.
  void reload(int slot, const Stream& stream) const;
  /// Makes the full KV of every slot unusable, so that only reloads can explain right results.
  void spoil(const Stream& stream) const;
  /// Checks a drafted and a verified row of the last layer of the last iteration that had them. Throws WrongResult.
  void verify() const;

 private:
  /// Attention of one kind in one iteration.
  struct Attention {
    AttentionArgs args;
    AttentionCut cut;
    int sequences = 0;
  };
  struct Iteration {
    std::int64_t tokens = 0;
    Attention draft, verify;
  };
  Attention plan(const std::vector<int>& owners, int query_tokens, const DeviceBuffer<Bf16>& output,
                 std::vector<int>& tables) const;
  void attend(const Attention& attention, int bits, std::int64_t layer, const Stream& stream) const;
  void multiply(const LinearShape& shape, std::int64_t tokens, std::int64_t weights_at, const Stream& stream) const;
  void verify_row(const Attention& attention, const std::vector<int>& owners, int bits,
                  const DeviceBuffer<Bf16>& output) const;
  [[nodiscard]] KvPools layer_pools(int bits, std::int64_t layer) const;

  const Session& session_;
  ReplaySize size_;
  std::vector<int> page_order_;
  Blas blas_;
  DeviceBuffer<Bf16> weights_, activations_, results_, queries_, draft_output_, verify_output_;
  DeviceBuffer<Bf16> full_keys_, full_values_;
  DeviceBuffer<std::uint32_t> small_keys_, small_values_, key_scales_, value_scales_;
  PinnedBuffer host_keys_, host_values_;
  DeviceBuffer<int> lengths_, tables_;
  DeviceBuffer<float> partial_output_, partial_maximum_, partial_sum_;
  std::map<std::pair<LinearShape, std::int64_t>, Product> products_;
  ReplaySchedule schedule_;
  std::vector<Iteration> iterations_;
};

}  // namespace kvsim::calibrate
