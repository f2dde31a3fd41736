// Serving points that somebody measured: what was served how, and the latencies and rates it came to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/schema/error.h"
#include "planner/backtest/recording.h"

namespace kvsim::planner::backtest {

/// Speculative decoding of a point: a drafter proposes `tokens` tokens before every step of a request.
struct PointDrafts {
  std::string drafter;            ///< in the catalogue; empty: one that was made for the model, else one layer of it
  std::int64_t tokens = 0;        ///< 0: not said
  double accept_length = 0;       ///< tokens of a step, its own among them; 0: not said
  std::vector<double> positions;  ///< share of drafts whose token at each position was accepted; empty: not said
};

struct ServingPoint {
  schema::Origin origin;  ///< the line of its file, or the file
  std::string id;         ///< "line 17" where the file gives none
  std::string engine, version;
  std::string model, gpu;        ///< as published
  std::string precision;         ///< of the model as a whole
  std::string weights, experts;  ///< number formats of linear layers and of routed experts, where told apart
  std::string mode;              ///< "agg", "disagg"
  std::string source;            ///< who measured it
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  std::int64_t clients = 0;   ///< of the closed loop; 0: it is none, or not said
  std::int64_t requests = 0;  ///< 0: as many a client as the source says
  double rate_per_s = 0;      ///< of an open loop; 0: it is none
  std::int64_t tensor = 1, pipeline = 1, attention_data = 1, expert_tensor = 1, expert = 1;  ///< parallelism, in GPUs

  std::optional<PointDrafts> drafts;  ///< none: one token a step
  /// Its requests, where they are known one by one; then there are no clients, and the tokens are those of the longest.
  std::shared_ptr<const Recording> recording;
  std::vector<std::string> settings;      ///< of the engine: changes of the scenario, as of --set
  std::string not_replayed;               ///< what of them a scenario cannot say, in words; empty: nothing
  std::optional<std::int64_t> kv_blocks;  ///< that requests can have, of all GPUs together; with `recording`

  // Measured; at least one of them.
  std::optional<double> ttft_s;  ///< mean, or whatever the file has
  std::optional<double> tpot_s;
  std::optional<double> output_tokens_per_s;  ///< of all GPUs together
};

/// Columns of all points: {name, text}, for what files leave out.
using Given = std::vector<std::pair<std::string, std::string>>;

}  // namespace kvsim::planner::backtest
