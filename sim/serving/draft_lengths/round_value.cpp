#include "sim/serving/draft_lengths/round_value.h"

namespace kvsim::serving {

void AgreementEvidence::add_round(std::int64_t drafted, std::int64_t accepted_now, double forgetting) {
  const auto agreed = static_cast<double>(accepted_now);
  accepted = forgetting * accepted + agreed;
  trials = forgetting * trials + agreed + (accepted_now < drafted ? 1.0 : 0.0);
}

double AgreementEvidence::agreement(double prior, double mean) const {
  return (accepted + prior * mean) / (trials + prior);
}

void AgreementEvidence::survival(double prior, double mean, std::int64_t count, double* s) const {
  constexpr double kNegligible = 1e-6;
  const double p = accepted + prior * mean;
  const double total = trials + prior;
  double reached = 1;
  for (std::int64_t i = 0; i < count && reached > kNegligible; ++i) {
    const auto before = static_cast<double>(i);
    reached *= (p + before) / (total + before);
    s[i] = reached;
  }
}

std::int64_t AgreementEvidence::worth(double prior, double mean, double price, std::int64_t from,
                                      std::int64_t most) const {
  const double p = accepted + prior * mean;
  const double total = trials + prior;
  double reached = 1;
  for (std::int64_t i = 0; i < most; ++i) {
    const auto before = static_cast<double>(i);
    reached *= (p + before) / (total + before);
    if (i >= from && reached <= price) return i;
  }
  return most;
}

std::int64_t best_draft_length(const AgreementEvidence& evidence, double prior, double mean, double v,
                               std::int64_t least, std::int64_t most) {
  const double p = evidence.accepted + prior * mean;
  const double total = evidence.trials + prior;
  double survival = 1, accepted = 0;
  for (std::int64_t x = 0; x < most; ++x) {
    const auto drafts = static_cast<double>(x);
    survival *= (p + drafts) / (total + drafts);  // S(x + 1)
    // One more draft is worth it while S(x + 1) (x + v) > 1 + A(x).
    if (x >= least && survival * (drafts + v) <= 1 + accepted) return x;
    accepted += survival;
  }
  return most;
}

}  // namespace kvsim::serving
