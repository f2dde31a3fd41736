// The requests of a run as a CSV file, a line each.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/serving/simulation.h"

namespace kvsim::cli {

/// Columns: request (number in the workload, from 0), arrival_s, prompt_tokens, output_tokens, first_token_s,
/// last_token_s (since the start of the run), largest_gap_s (between two deliveries of tokens), path
/// (ServingSystem::path_of), found_tokens (of the prompt, in GPU memory at the first admission), stored_tokens (of the
/// prompt, that were loaded and not computed at the latest admission), rounds (verifications), drafted_tokens,
/// accepted_tokens, verifier_tokens (that verifications gave themselves), direct_tokens (of decoding and prefill),
/// class (its name), session (from 0 as they begin), turn (from 1), replica (from 0). Those are empty where there is
/// none. In order of arrival, so that it is a trace (format csv) and a recording that `kvsim backtest` reads. A line
/// waits for the requests that arrived before it: some 150 bytes for each that has finished before one of these.
class RequestTable : public serving::RequestWatcher {
 public:
  /// Writes the heading to `out`, which must outlive the table, and whose state tells of what could not be written.
  explicit RequestTable(std::ostream& out);
  /// Names of ServingConfig::classes, before the run begins.
  void name_classes(const std::vector<serving::ClassConfig>& classes);
  void arrived(engine::SimTime now) override { unfinished_.insert(now); }
  void entered(std::uint64_t id, const models::RequestSpec& spec) override;
  void refused(engine::SimTime arrival) override;
  void finished(const serving::Request& request, std::string_view path) override;
  /// Writes the lines that wait for requests which will never finish.
  void close();

 private:
  struct Line {
    engine::SimTime arrival;
    std::uint64_t id = 0;
    std::string text;
    friend bool operator>(const Line& a, const Line& b) {
      return a.arrival != b.arrival ? a.arrival > b.arrival : a.id > b.id;
    }
  };
  void write_first();
  void write_those_due();

  std::ostream& out_;
  std::vector<std::string> classes_;                                                // names, as fields of CSV
  std::unordered_map<std::uint64_t, std::pair<std::int32_t, std::int32_t>> turns_;  // session and turn, by request
  std::multiset<engine::SimTime> unfinished_;                                       // by arrival
  std::priority_queue<Line, std::vector<Line>, std::greater<>> waiting_{};          // for one that arrived before
};

}  // namespace kvsim::cli
