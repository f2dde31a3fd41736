// The requests of a run as a CSV file, a line each.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "sim/serving/simulation.h"

namespace kvsim::cli {

/// Columns: request (number in the workload, from 0), arrival_s, prompt_tokens, output_tokens, first_token_s,
/// last_token_s (since the start of the run), largest_gap_s (between two deliveries of tokens), stored_tokens (of the
/// prompt, that were not computed at the latest admission), drafted_tokens, accepted_tokens, verifier_tokens (that
/// verifications gave themselves), direct_tokens (of decoding and prefill). Sorted by arrival, they are a recording
/// that `kvsim backtest` reads. Written as requests finish; memory does not grow.
class RequestTable : public serving::RequestWatcher {
 public:
  /// Opens the file and writes the heading. Throws OutputError.
  explicit RequestTable(std::string path);
  void finished(const serving::Request& request) override;
  /// Makes sure that all was written; false where something was not.
  [[nodiscard]] bool close();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace kvsim::cli
