// Requests made on demand: lengths always, arrival times where the loop is open. A closed loop takes the next request
// when a client becomes free; when that is, is the simulator's business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/distributions.h"
#include "models/workload/request_spec.h"
#include "models/workload/sessions.h"
#include "models/workload/shared_chunks.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {

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
  /// A new stream, by what is drawn and for whom; of a workload with sessions or classes.
  std::function<std::unique_ptr<RandomSource>(const std::string& what, std::uint64_t index)> named{};
};

/// Requests of one kind among others.
struct RequestClass {
  std::string name;
  double share = 1;   ///< of all requests, beside the shares of the others
  LengthSpec prompt;  ///< of what follows the prefixes, if there are any
  LengthSpec output;
  std::optional<SharedPrefixSpec> prefixes{};  ///< shared within the class
};

struct GeneratedWorkload {
  LengthSpec prompt;  ///< with prefixes or chunks: of what follows them
  LengthSpec output;
  std::optional<ArrivalSpec> arrivals;         ///< absent: closed loop
  std::optional<SharedPrefixSpec> prefixes{};  ///< absent: no prompt begins like another
  bool with_blocks = false;                    ///< fill RequestSpec::prefix_blocks; where nothing is shared they stay
                                               ///< empty, of chunks they are the chain of the chunks alone
  std::optional<SharedChunkSpec> chunks{};     ///< absent: prompts are not made of chunks; not together with prefixes
  std::optional<SessionSpec> sessions{};       ///< absent: every request stands alone; not together with chunks
  std::vector<RequestClass> classes{};         ///< in place of prompt, output and prefixes; not together with chunks or
                                               ///< sessions
  bool with_answers = false;                   ///< with blocks and sessions: blocks of the answers, too
};

class RequestSource {
 public:
  /// Throws schema::InputError where the workload makes no sense. All streams that it has a use for must be there.
  RequestSource(const GeneratedWorkload& workload, WorkloadStreams streams);

  /// The next request, numbered from 0. Open loop: with its arrival time. Closed loop: arrival_ns is 0, for the caller
  /// to set. With sessions: the first turn of the next session.
  RequestSpec next();

  // Sessions of a workload: what follows on next(). Their turns share the numbers of requests.

  [[nodiscard]] bool has_sessions() const { return sessions_.has_value(); }
  /// As Sessions', with numbers and blocks.
  [[nodiscard]] std::vector<RequestSpec> begin_sub_agents(std::int64_t session);
  /// As Sessions' of that name.
  std::optional<std::int64_t> turn_over(std::int64_t session) { return sessions_->turn_over(session); }
  /// As Sessions', with number and blocks.
  RequestSpec next_turn(std::int64_t session);
  void forget(std::int64_t session) { sessions_->forget(session); }

  /// Tokens of each of RequestSpec::prefix_blocks; 0: they are empty.
  [[nodiscard]] std::int64_t block_tokens() const {
    if (!with_blocks_) return 0;
    return chunks_ ? chunk_tokens_ : shares_prefixes_ ? SharedPrefixes::block_tokens : 0;
  }
  [[nodiscard]] bool closed_loop() const { return !arrivals_.has_value(); }

 private:
  /// Laws that requests of one class are drawn from; without classes, those of all requests.
  struct Kind {
    LengthSampler prompt, output;
    std::optional<SharedPrefixes> prefixes;
    std::unique_ptr<RandomSource> prompts, outputs, which_prefix;
    double up_to = 0;  // sum of the shares, this one's included
  };

  void add_kind(const RequestClass& of, std::size_t first_prefix, std::unique_ptr<RandomSource> prompts,
                std::unique_ptr<RandomSource> outputs, std::unique_ptr<RandomSource> which_prefix,
                RandomSource* prefix_lengths);
  [[nodiscard]] std::size_t draw_kind();
  void add_prefix(RequestSpec& request, Kind& kind);
  void add_chunks(RequestSpec& request);
  void add_session_blocks(RequestSpec& request) const;

  std::vector<Kind> kinds_;
  std::unique_ptr<RandomSource> which_kind_;
  std::optional<ArrivalProcess> arrivals_;
  std::optional<SharedChunks> chunks_;
  std::optional<Sessions> sessions_;
  std::int64_t chunk_tokens_ = 0;
  bool with_blocks_ = false, with_answers_ = false;
  bool shares_prefixes_ = false;
  WorkloadStreams streams_;
  std::uint64_t next_id_ = 0;
};

}  // namespace kvsim::models
