// Where a workload's random numbers come from. models knows no engine, so it asks for draws through this interface; the
// engine's named streams satisfy it by RandomSourceOf.
#pragma once

#include <cstdint>
#include <utility>

namespace kvsim::models {

class RandomSource {
 public:
  RandomSource() = default;
  RandomSource(const RandomSource&) = delete;
  RandomSource& operator=(const RandomSource&) = delete;
  virtual ~RandomSource() = default;

  virtual double uniform() = 0;                               ///< [0, 1)
  virtual double uniform_open() = 0;                          ///< (0, 1)
  virtual std::uint64_t below(std::uint64_t n) = 0;           ///< [0, n), n >= 1
  virtual double exponential(double mean) = 0;                ///< mean > 0
  virtual double normal() = 0;                                ///< mean 0, variance 1
  virtual double lognormal(double mean, double cv) = 0;       ///< of the values, not of their logarithms
  virtual double gamma(double mean, double cv) = 0;           ///< mean > 0, cv > 0
  virtual std::uint64_t zipf(std::uint64_t n, double s) = 0;  ///< rank in [0, n), P(k) proportional to 1/(k+1)^s
};

/// Any class with these members as a RandomSource; it owns its stream.
template <class Stream>
class RandomSourceOf final : public RandomSource {
 public:
  explicit RandomSourceOf(Stream stream) : stream_(std::move(stream)) {}

  double uniform() override { return stream_.uniform(); }
  double uniform_open() override { return stream_.uniform_open(); }
  std::uint64_t below(std::uint64_t n) override { return stream_.below(n); }
  double exponential(double mean) override { return stream_.exponential(mean); }
  double normal() override { return stream_.normal(); }
  double lognormal(double mean, double cv) override { return stream_.lognormal(mean, cv); }
  double gamma(double mean, double cv) override { return stream_.gamma(mean, cv); }
  std::uint64_t zipf(std::uint64_t n, double s) override { return stream_.zipf(n, s); }

 private:
  Stream stream_;
};

}  // namespace kvsim::models
