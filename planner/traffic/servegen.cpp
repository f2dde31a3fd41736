#include "planner/traffic/servegen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "models/schema/error.h"
#include "models/schema/text_number.h"
#include "models/schema/units.h"
#include "models/workload/line_reader.h"
#include "sim/engine/random.h"

namespace kvsim::planner::traffic {
namespace {

namespace fs = std::filesystem;
using models::LineReader;
using schema::InputError;

std::optional<double> number_in(std::string_view text) {
  const auto value = schema::number_from<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

constexpr double kHighestRate = 1e6;                    // of a client
constexpr double kLeastShape = 0.01, kMostShape = 1e4;  // the data has 0.018 to 16

std::vector<ServeGen::Window> read_windows(const std::string& path) {
  constexpr std::size_t kFields = 6;
  constexpr std::array<const char*, kFields> names{"the start", "the rate",  "the cv",
                                                   "the law",   "the shape", "the scale"};
  LineReader lines = LineReader::open(path, "a client's windows");
  std::vector<ServeGen::Window> windows;
  while (lines.next()) {
    std::array<std::string_view, kFields> fields;
    std::array<std::size_t, kFields> bytes{};
    std::size_t n = 0, begin = 0;
    for (std::size_t i = 0; i <= lines.line().size(); ++i) {
      if (i < lines.line().size() && lines.line()[i] != ',') continue;
      if (n < kFields) {
        fields[n] = lines.line().substr(begin, i - begin);
        bytes[n] = begin;
      }
      ++n;
      begin = i + 1;
    }
    if (n != kFields) {
      lines.fail(0, fmt::format("the line has {} fields, expected start, rate, cv, law, shape and scale", n));
    }
    const auto number = [&](std::size_t field, double least, double most) {
      const std::optional<double> value = number_in(fields[field]);
      if (value && *value >= least && *value <= most) return *value;
      lines.fail(bytes[field], fmt::format("{} is \"{}\", expected a number from {} to {}", names[field],
                                           fields[field].substr(0, 40), least, most));
    };
    ServeGen::Window window;
    window.start_s = number(0, windows.empty() ? 0 : windows.back().start_s + 1e-3, 1e9);
    window.rate_per_s = number(1, 0, kHighestRate);
    if (window.rate_per_s > 0) {
      if (fields[3] != "Gamma" && fields[3] != "Weibull") {
        lines.fail(bytes[3], fmt::format("the law is \"{}\", expected Gamma or Weibull", fields[3].substr(0, 40)));
      }
      window.weibull = fields[3] == "Weibull";
      window.shape = number(4, kLeastShape, kMostShape);
    }
    if (windows.size() >= 2) {
      const double expected = windows.back().start_s + (windows[1].start_s - windows[0].start_s);
      if (std::abs(window.start_s - expected) > 1e-6) {
        lines.fail(bytes[0], fmt::format("the window begins at {} s, expected {}: they are equally long",
                                         window.start_s, expected));
      }
    }
    windows.push_back(window);
  }
  if (windows.size() < 2) lines.fail_file("has fewer than two windows, expected some of equal length");
  return windows;
}

/// "{63: 0.18, 64: 0.51}".
ServeGen::Shares read_shares(const std::string& file, const std::string& where, std::string_view text) {
  const auto wrong = [&](std::string_view part) {
    throw InputError(fmt::format("{}: {}: found \"{}\", expected a dictionary such as {{63: 0.18, 64: 0.82}}", file,
                                 where, part.substr(0, 40)));
  };
  const auto trim = [](std::string_view part) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    return part;
  };
  ServeGen::Shares shares;
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') wrong(text);
  text = text.substr(1, text.size() - 2);
  std::vector<std::pair<std::int64_t, double>> entries;
  while (!trim(text).empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos) wrong(entry);
    const auto tokens = number_in(trim(entry.substr(0, colon))), share = number_in(trim(entry.substr(colon + 1)));
    if (!tokens || !share || *share < 0 || *tokens < 0 || *tokens > static_cast<double>(models::max_request_tokens)) {
      wrong(entry);
    }
    entries.emplace_back(std::max<std::int64_t>(std::llround(*tokens), 1), *share);
  }
  std::sort(entries.begin(), entries.end());
  double total = 0;
  for (const auto& entry : entries) total += entry.second;
  if (!entries.empty() && !(total > 0)) wrong("shares of 0");
  double up_to = 0;
  for (const auto& [tokens, share] : entries) {
    up_to += share / total;
    shares.tokens.push_back(tokens);
    shares.up_to.push_back(up_to);
  }
  return shares;
}

std::vector<ServeGen::Lengths> read_lengths(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InputError(fmt::format("{}: cannot be opened, expected a client's lengths", path));
  const nlohmann::json document = nlohmann::json::parse(file, nullptr, false);
  if (!document.is_object()) throw InputError(fmt::format("{}: is no JSON object, expected lengths by window", path));
  std::vector<ServeGen::Lengths> all;
  for (const auto& [start, fields] : document.items()) {
    const std::optional<double> start_s = number_in(start);
    if (!start_s || !fields.is_object()) {
      throw InputError(fmt::format("{}: {}: expected the start of a window in s, and an object", path, start));
    }
    ServeGen::Lengths lengths{*start_s, {}, {}};
    for (const auto& [name, shares] : {std::pair{"input_tokens", &lengths.input}, {"output_tokens", &lengths.output}}) {
      const std::string where = start + "." + name;
      if (!fields.contains(name) || !fields[name].is_string()) {
        throw InputError(fmt::format("{}: {} is missing, expected a dictionary in quotes", path, where));
      }
      *shares = read_shares(path, where, fields[name].get<std::string>());
    }
    if (!lengths.input.tokens.empty() && !lengths.output.tokens.empty()) all.push_back(std::move(lengths));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  return all;
}

std::int64_t draw_length(const ServeGen::Shares& shares, double at) {
  const auto found = std::lower_bound(shares.up_to.begin(), shares.up_to.end(), at);
  const auto i = std::min<std::ptrdiff_t>(found - shares.up_to.begin(), std::ssize(shares.tokens) - 1);
  return shares.tokens[static_cast<std::size_t>(i)];
}

/// One client going on in time.
class Course {
 public:
  Course(const ServeGen::Client& client, double from_s, std::uint64_t seed)
      : client_(client),
        gaps_(engine::RandomStream(seed, "servegen gaps", static_cast<std::uint64_t>(client.number))),
        lengths_(engine::RandomStream(seed, "servegen lengths", static_cast<std::uint64_t>(client.number))),
        now_s_(from_s) {
    while (at_ < client.windows.size() && end_of(at_) <= from_s) ++at_;
    advance();
  }

  [[nodiscard]] double next_s() const { return now_s_; }

  models::RequestSpec take() {
    models::RequestSpec r;
    const auto after = std::upper_bound(client_.lengths.begin(), client_.lengths.end(), now_s_,
                                        [](double at, const ServeGen::Lengths& l) { return at < l.start_s; });
    const ServeGen::Lengths& lengths = after == client_.lengths.begin() ? *after : *std::prev(after);
    r.prompt_tokens = draw_length(lengths.input, lengths_.uniform());
    r.output_tokens = draw_length(lengths.output, lengths_.uniform());
    advance();
    return r;
  }

 private:
  [[nodiscard]] double end_of(std::size_t window) const { return client_.windows[window].start_s + client_.step_s; }

  /// To the next request; infinite where there is none.
  void advance() {
    double left = -1;  // of a gap of mean 1; drawn where there are requests
    for (; at_ < client_.windows.size(); ++at_) {
      const ServeGen::Window& window = client_.windows[at_];
      now_s_ = std::max(now_s_, window.start_s);
      if (window.rate_per_s == 0) continue;
      if (left < 0) left = draw_gap(window);
      if (now_s_ + left / window.rate_per_s < end_of(at_)) {
        now_s_ += left / window.rate_per_s;
        return;
      }
      left -= (end_of(at_) - now_s_) * window.rate_per_s;
      now_s_ = end_of(at_);
    }
    now_s_ = std::numeric_limits<double>::infinity();
  }

  double draw_gap(const ServeGen::Window& window) {
    if (!window.weibull) return gaps_.gamma(1, 1 / std::sqrt(window.shape));
    return std::pow(-std::log(gaps_.uniform_open()), 1 / window.shape) / std::tgamma(1 + 1 / window.shape);
  }

  const ServeGen::Client& client_;
  engine::RandomStream gaps_, lengths_;
  double now_s_;
  std::size_t at_ = 0;
};

}  // namespace

ServeGen::ServeGen(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view before = "chunk-", behind = "-trace.csv";
    if (!name.starts_with(before) || !name.ends_with(behind) || name.size() <= before.size() + behind.size()) continue;
    const std::string number = name.substr(before.size(), name.size() - before.size() - behind.size());
    if (number.find_first_not_of("0123456789") != std::string::npos || number.size() > 9) continue;
    Client client;
    client.number = std::stoll(number);
    client.windows = read_windows(entry.path().string());
    client.step_s = client.windows[1].start_s - client.windows[0].start_s;
    client.lengths = read_lengths((fs::path(folder) / fmt::format("chunk-{}-dataset.json", number)).string());
    const bool asks =
        std::any_of(client.windows.begin(), client.windows.end(), [](const Window& w) { return w.rate_per_s > 0; });
    if (asks && client.lengths.empty()) {
      throw InputError(fmt::format("{}: there are no lengths, expected those of a client with requests",
                                   (fs::path(folder) / fmt::format("chunk-{}-dataset.json", number)).string()));
    }
    end_s_ = std::max(end_s_, client.windows.back().start_s + client.step_s);
    if (asks) clients_.push_back(std::move(client));
  }
  if (clients_.empty()) {
    throw InputError(
        fmt::format("{}: there is no client with requests, expected ServeGen's files chunk-N-trace.csv and "
                    "chunk-N-dataset.json",
                    folder));
  }
  std::sort(clients_.begin(), clients_.end(), [](const Client& a, const Client& b) { return a.number < b.number; });
}

double ServeGen::expected(double from_s, double until_s) const {
  double requests = 0;
  for (const Client& client : clients_) {
    for (const Window& window : client.windows) {
      const double time = std::min(until_s, window.start_s + client.step_s) - std::max(from_s, window.start_s);
      requests += std::max(time, 0.0) * window.rate_per_s;
    }
  }
  return requests;
}

void ServeGen::generate(double from_s, double until_s, std::uint64_t seed,
                        const std::function<bool(const models::RequestSpec&)>& sink) const {
  std::vector<Course> courses;
  courses.reserve(clients_.size());
  for (const Client& client : clients_) courses.emplace_back(client, from_s, seed);
  for (std::uint64_t id = 0;; ++id) {
    const auto next = std::min_element(courses.begin(), courses.end(),
                                       [](const Course& a, const Course& b) { return a.next_s() < b.next_s(); });
    const double at_s = next->next_s();
    if (!(at_s < until_s)) return;
    models::RequestSpec request = next->take();
    request.id = id;
    request.arrival_ns = std::llround((at_s - from_s) * kNsPerSecond);
    if (!sink(request)) return;
  }
}

}  // namespace kvsim::planner::traffic
