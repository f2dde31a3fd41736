// ServeGen's workloads (Xiang et al., arXiv:2505.09999; data Apache-2.0): no trace, but what each client of a service
// did, by window: rate and law of the gaps, shares of lengths. Requests are drawn from it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/workload/trace_reader.h"

namespace kvsim::planner::traffic {

class ServeGen {
 public:
  /// A folder with chunk-CLIENT-trace.csv (start of a window in s, requests/s, cv of the gaps, Gamma, Weibull or
  /// nothing, shape, scale) and chunk-CLIENT-dataset.json (start of a window in s, then shares of input_tokens and
  /// output_tokens) of each client. Throws schema::InputError with file and line.
  explicit ServeGen(const std::string& folder);

  [[nodiscard]] std::size_t clients() const { return clients_.size(); }
  /// Where the windows end.
  [[nodiscard]] double end_s() const { return end_s_; }
  /// Expected requests from `from_s` to `until_s`.
  [[nodiscard]] double expected(double from_s, double until_s) const;

  /// Requests of all clients from `from_s` to `until_s` in order of arrival, times since from_s; false from `sink` ends
  /// it. Gaps have the shape of their window's law and its rate: the scale is not used, for with it Weibull gaps of the
  /// data do not have the rate beside them. A gap goes on over the end of a window in proportion to the rates. Lengths
  /// are drawn for themselves: the data does not say how prompts and outputs go together. Where a window has none,
  /// those of the window before.
  void generate(double from_s, double until_s, std::uint64_t seed,
                const std::function<bool(const models::RequestSpec&)>& sink) const;

  struct Window {
    double start_s = 0;
    double rate_per_s = 0;
    bool weibull = false;
    double shape = 1;
  };
  struct Shares {
    std::vector<std::int64_t> tokens;
    std::vector<double> up_to;  ///< share of lengths no longer
  };
  struct Lengths {
    double start_s = 0;
    Shares input, output;
  };
  struct Client {
    std::int64_t number = 0;
    double step_s = 0;  ///< of a window
    std::vector<Window> windows;
    std::vector<Lengths> lengths;  ///< of windows that have some
  };

 private:
  std::vector<Client> clients_;
  double end_s_ = 0;
};

}  // namespace kvsim::planner::traffic
