// Requests made on demand: lengths always, arrival times where the loop is open. A closed loop takes the next request
// when a client becomes free; when that is, is the simulator's business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/workload/distributions.h"
#include "models/workload/shared_chunks.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {

// What a workload produces: requests with an arrival time and two lengths, whoever made them.

struct RequestSpec {
  std::uint64_t id = 0;                      ///< position in the workload, from 0
  std::int64_t arrival_ns = 0;               ///< since the start of the workload
  std::int64_t prompt_tokens = 0;            ///< >= 1
  std::int64_t output_tokens = 0;            ///< >= 1
  std::vector<std::uint64_t> prefix_blocks;  ///< chained block hashes where the workload has them, else empty
  std::int64_t context = -1;                 ///< shared prefix that the prompt begins with, numbered from 0; -1: none
  std::int64_t context_tokens = 0;           ///< of that prefix
  std::vector<std::uint64_t> chunks{};       ///< shared chunks that the prompt begins with, numbered from 0, in order
  std::int64_t chunk_tokens = 0;             ///< of each of them
  std::int32_t session = -1;                 ///< that a trace says it belongs to, from 0 as they begin; -1: none said
  std::int32_t turn = 0;                     ///< of that session, from 1; 0 without one
  std::int64_t think_ns = -1;                ///< from the end of the turn before to its arrival; -1: not recorded
};

/// One stream a purpose: another rate leaves every length as it was, other outputs leave every prompt as it was.
struct WorkloadStreams {
  std::unique_ptr<RandomSource> arrivals;
  std::unique_ptr<RandomSource> prompts;
  std::unique_ptr<RandomSource> outputs;
  std::unique_ptr<RandomSource> prefixes{};        ///< which prefix a request has; of a workload with prefixes
  std::unique_ptr<RandomSource> prefix_lengths{};  ///< of the same
  /// Which chunks a request has, of a workload with chunks: a new stream, always the same for the same request, so that
  /// more chunks a request leave its first ones, and all those of the others, as they were.
  std::function<std::unique_ptr<RandomSource>(std::uint64_t request)> chunks{};
};

struct GeneratedWorkload {
  LengthSpec prompt;  ///< with prefixes or chunks: of what follows them
  LengthSpec output;
  std::optional<ArrivalSpec> arrivals;         ///< absent: closed loop
  std::optional<SharedPrefixSpec> prefixes{};  ///< absent: no prompt begins like another
  bool with_blocks = false;                    ///< fill RequestSpec::prefix_blocks; where nothing is shared they stay
                                               ///< empty, of chunks they are the chain of the chunks alone
  std::optional<SharedChunkSpec> chunks{};     ///< absent: prompts are not made of chunks; not together with prefixes
};

class RequestSource {
 public:
  /// Throws schema::InputError where the workload makes no sense. All streams that it has a use for must be there.
  RequestSource(const GeneratedWorkload& workload, WorkloadStreams streams);

  /// The next request, numbered from 0. Open loop: with its arrival time. Closed loop: arrival_ns is 0, for the caller
  /// to set.
  RequestSpec next();

  /// Tokens of each of RequestSpec::prefix_blocks; 0: they are empty.
  [[nodiscard]] std::int64_t block_tokens() const {
    if (!with_blocks_) return 0;
    return prefixes_ ? SharedPrefixes::block_tokens : chunk_tokens_;
  }
  [[nodiscard]] bool closed_loop() const { return !arrivals_.has_value(); }

 private:
  void add_prefix(RequestSpec& request);
  void add_chunks(RequestSpec& request);

  LengthSampler prompt_;
  LengthSampler output_;
  std::optional<ArrivalProcess> arrivals_;
  std::optional<SharedPrefixes> prefixes_;
  std::optional<SharedChunks> chunks_;
  std::int64_t chunk_tokens_ = 0;
  bool with_blocks_ = false;
  WorkloadStreams streams_;
  std::uint64_t next_id_ = 0;
};

}  // namespace kvsim::models
