#include "tools/results/time_account.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvsim::results {

using serving::Bottleneck;
using serving::kTimeParts;
using serving::TimePartName;

std::string bound_text(std::string_view name, double share) {
  return fmt::format("{} {:.0f} %", name, share * 100);
}

std::string gain_text(double gain) {
  return std::isfinite(gain) ? fmt::format("{:+.0f} %", gain * 100) : "";
}

std::string saturated_text(double tokeniser_busy, double link_in_use) {
  if (tokeniser_busy >= serving::kNeverRests) return bound_text("tokeniser", tokeniser_busy);
  return link_in_use >= serving::kNeverRests ? bound_text("link", link_in_use) : "";
}

std::string launched_words(std::vector<std::pair<std::string, double>> shares) {
  constexpr std::size_t kMost = 5;
  std::erase_if(shares, [](const auto& one) { return !(one.second > kLaunchedWorthSaying); });
  if (shares.empty()) return {};
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string words = "iterations launched kernel by kernel, as they have more tokens than captured ones: ";
  for (std::size_t i = 0; i < std::min(kMost, shares.size()); ++i) {
    words += fmt::format("{}{:.0f} % of {}", i == 0 ? "" : ", ", shares[i].second * 100, shares[i].first);
  }
  return words + (shares.size() > kMost ? fmt::format(" and fewer of {} more", shares.size() - kMost) : "");
}

std::string bound_words(const Bottleneck& b) {
  constexpr double kWorthSaying = 0.05;
  std::vector<const TimePartName*> parts;
  for (const TimePartName& part : kTimeParts) parts.push_back(&part);
  std::stable_sort(parts.begin(), parts.end(), [&b](const TimePartName* one, const TimePartName* other) {
    return (b.*one->part).share > (b.*other->part).share;
  });
  std::string words = bound_text(parts.front()->name, (b.*parts.front()->part).share);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const double share = (b.*parts[i]->part).share;
    if (share >= kWorthSaying) words += ", " + bound_text(parts[i]->name, share);
  }
  return words;
}

Binding binding_of(const Bottleneck& b, double tokeniser_busy, bool idle) {
  if (std::string text = saturated_text(tokeniser_busy, b.link_in_use); !text.empty()) {
    return {std::move(text), gain_text(tokeniser_busy >= serving::kNeverRests ? b.front_end.gain : b.link.gain)};
  }
  Binding most;
  double largest = 0;
  for (const TimePartName& part : kTimeParts) {
    const auto& [share, gain] = b.*part.part;
    if (!(share > largest) || (part.part == &Bottleneck::idle && !idle)) continue;
    largest = share;
    most = {bound_text(part.name, share), part.more.empty() ? "" : gain_text(gain)};
  }
  return most;
}

Bottleneck account_of(const std::function<double(std::string_view, std::string_view)>& figure) {
  const auto known = [](double share) { return std::isfinite(share) ? share : 0.0; };
  Bottleneck b;
  for (const TimePartName& part : kTimeParts) {
    (b.*part.part).share = known(figure("bound_by", part.key));
    (b.*part.part).gain = part.more.empty() ? 0 : figure("twice", part.key);
  }
  b.link_in_use = known(figure("link_in_use", ""));
  return b;
}

Fields<Bottleneck> time_share_fields() {
  Fields<Bottleneck> fields;
  for (const TimePartName& part : kTimeParts) {
    fields.push_back({std::string(part.key),
                      {kShare, fmt::format("share of the replicas' time {}", part.time)},
                      [&part](const Bottleneck& b) { return (b.*part.part).share; }});
  }
  return fields;
}

Fields<Bottleneck> time_gain_fields() {
  Fields<Bottleneck> fields;
  for (const TimePartName& part : kTimeParts) {
    if (part.more.empty()) continue;
    fields.push_back({std::string(part.key), {kShare, fmt::format("of {}", part.more)}, [&part](const Bottleneck& b) {
                        return (b.*part.part).gain;
                      }});
  }
  return fields;
}

}  // namespace kvsim::results
