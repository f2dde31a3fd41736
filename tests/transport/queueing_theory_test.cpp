// Links as queues against the closed forms of queueing theory. Ten independent replications each; the theoretical value
// must lie within twice the 95 % half-width (for a fixed seed, so it either always does or never), and that half-width
// must be small enough for the test to mean something.
// Source of the formulas: L. Kleinrock, Queueing Systems, vol. 1 (M/M/1, M/G/1, Little) and vol. 2, section 4.4
// (processor sharing).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "sim/engine/random.h"
#include "sim/engine/statistics.h"
#include "tests/transport/own_link.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;

namespace {

constexpr double bytes_per_s = 1e9;
constexpr double mean_bytes = 1e6;
constexpr double mean_service = mean_bytes / bytes_per_s;  // E[S] = 1 ms

using Sizes = std::function<double(RandomStream&)>;

double exponential(RandomStream& random) {
  return random.exponential(mean_bytes);
}
double constant(RandomStream& /*random*/) {
  return mean_bytes;
}
// Nine in ten are 0.2 of the mean, one in ten 8.2 of it: 0.9 x 0.2 + 0.1 x 8.2 = 1.
double two_point(RandomStream& random) {
  return random.uniform() < 0.9 ? 0.2 * mean_bytes : 8.2 * mean_bytes;
}

struct Observed {
  double mean_wait;     // submission to start of service
  double mean_sojourn;  // submission to completion
  double utilisation;
  double mean_number;  // of transfers on the link, over time
  double throughput;   // transfers per second
};

// Poisson arrivals at load rho; the first tenth is warm-up.
class Queue {
 public:
  Queue(Queueing discipline, double rho, Sizes sizes, std::uint64_t replication)
      : rho_(rho),
        sizes_(std::move(sizes)),
        arrivals_(42, "arrivals", replication),
        draws_(42, "sizes", replication),
        link_(
            make_link(simulator_,
                      {.name = "queue", .bytes_per_s = bytes_per_s, .latency = {}, .setup = {}, .queueing = discipline},
                      nullptr)) {
    schedule_arrival();
  }

  Observed observe(int customers) {
    while (completed_ < customers / 10) simulator_.step();
    const SimTime begin = simulator_.now();
    const LinkStatistics before = link_->statistics();
    sojourn_ = Sample();
    number_.reset(begin);
    while (completed_ < customers) simulator_.step();
    const SimTime end = simulator_.now();
    const LinkStatistics after = link_->statistics();
    link_->check_conservation();
    const double elapsed = (end - begin).seconds();
    return {(after.total_wait_s - before.total_wait_s) /
                static_cast<double>(after.transfers_started - before.transfers_started),
            sojourn_.mean(), (after.busy_s - before.busy_s) / elapsed, number_.mean(end),
            static_cast<double>(sojourn_.count()) / elapsed};
  }

 private:
  void schedule_arrival() {
    const Duration gap = from_seconds(arrivals_.exponential(mean_service / rho_));
    simulator_.schedule_in(gap, Callback::to<&Queue::arrive>(this));
  }

  void arrive() {
    number_.set(number_.level() + 1, simulator_.now());
    const auto bytes = static_cast<std::int64_t>(std::llround(sizes_(draws_)));
    const auto now = static_cast<std::uint64_t>(simulator_.now().ns);
    link_->submit({.bytes = bytes, .on_complete = Callback::to<&Queue::complete>(this, now)});
    schedule_arrival();
  }

  void complete(std::uint64_t submitted_ns) {
    ++completed_;
    number_.set(number_.level() - 1, simulator_.now());
    sojourn_.add((simulator_.now() - SimTime{static_cast<std::int64_t>(submitted_ns)}).seconds());
  }

  double rho_;
  Sizes sizes_;
  RandomStream arrivals_;
  RandomStream draws_;
  Simulator simulator_;
  std::unique_ptr<OwnLink> link_;
  Sample sojourn_;
  TimeWeighted number_;
  int completed_ = 0;
};

ConfidenceInterval replicate(Queueing discipline, double rho, const Sizes& sizes, double Observed::*what) {
  std::vector<double> values;
  for (std::uint64_t replication = 0; replication < 10; ++replication) {
    values.push_back(Queue(discipline, rho, sizes, replication).observe(60'000).*what);
  }
  return confidence_95(values);
}

void expect_theory(const ConfidenceInterval& seen, double theory) {
  EXPECT_NEAR(seen.mean, theory, 2 * seen.half_width_95);
  EXPECT_LT(seen.half_width_95, 0.06 * theory);
}

TEST(QueueingTheory, exponentialTransfersOnASerialLinkWaitLikeMM1) {
  // W_q = rho E[S] / (1 - rho).
  for (const double rho : {0.3, 0.7}) {
    expect_theory(replicate(Queueing::serialised, rho, exponential, &Observed::mean_wait),
                  rho * mean_service / (1 - rho));
  }
}

TEST(QueueingTheory, constantTransfersOnASerialLinkWaitHalfAsLongLikeMD1) {
  // W_q = rho E[S] / (2 (1 - rho)).
  for (const double rho : {0.3, 0.7}) {
    expect_theory(replicate(Queueing::serialised, rho, constant, &Observed::mean_wait),
                  rho * mean_service / (2 * (1 - rho)));
  }
}

TEST(QueueingTheory, theSojournOnASharedLinkDependsOnNothingButTheMeanSize) {
  // M/G/1 processor sharing: T = E[S] / (1 - rho), insensitive to the distribution.
  for (const double rho : {0.3, 0.7}) {
    for (const auto& sizes : {exponential, two_point}) {
      expect_theory(replicate(Queueing::fair_share, rho, sizes, &Observed::mean_sojourn), mean_service / (1 - rho));
    }
  }
}

TEST(QueueingTheory, theSharedLinkIsNotInsensitiveByAccidentOfTheSerialOne) {
  // On a serial link the two-point sizes wait (1 + cv^2) / 2 times as long as M/M/1 (Pollaczek-Khinchine): the contrast
  // that makes the test above mean something. E[S^2] = 0.9 x 0.04 + 0.1 x 67.24 = 6.76.
  const double rho = 0.5;
  const ConfidenceInterval seen = replicate(Queueing::serialised, rho, two_point, &Observed::mean_wait);
  EXPECT_NEAR(seen.mean, rho * mean_service * 6.76 / (2 * (1 - rho)), 2 * seen.half_width_95);
  EXPECT_GT(seen.mean, 2 * rho * mean_service / (1 - rho));
}

TEST(QueueingTheory, littlesLawHoldsOnEveryDiscipline) {
  // L = lambda T. The two differ only by the transfers in the system at either end of the observation.
  for (const auto discipline : {Queueing::serialised, Queueing::fair_share}) {
    const Observed o = Queue(discipline, 0.6, exponential, 1).observe(60'000);
    EXPECT_NEAR(o.mean_number, o.throughput * o.mean_sojourn, 0.005 * o.mean_number);
  }
}

TEST(QueueingTheory, utilisationIsThroughputTimesServiceOnEveryDiscipline) {
  for (const auto discipline : {Queueing::serialised, Queueing::fair_share}) {
    expect_theory(replicate(discipline, 0.6, exponential, &Observed::utilisation), 0.6);
    const Observed o = Queue(discipline, 0.6, constant, 1).observe(60'000);
    EXPECT_NEAR(o.utilisation, o.throughput * mean_service, 1e-3);
  }
}

}  // namespace
}  // namespace KVSIM_FILE
