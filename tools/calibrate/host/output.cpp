#include "tools/calibrate/host/output.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "models/schema/error.h"

namespace kvsim::calibrate {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Cells with a comma, a quotation mark or a line break stand in quotation marks (RFC 4180).
std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  std::string result = "\"";
  for (const char c : cell) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

std::string line(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + quoted(cells[i]);
  return text + "\n";
}

std::optional<double> number(const std::string& cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

bool cell_before(const std::string& a, const std::string& b) {
  const auto x = number(a);
  const auto y = number(b);
  if (x && y) return *x < *y;
  if (x || y) return x.has_value();  // numbers before words
  return a < b;
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("no sample to take the median of");
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9), samples.size()};
}

std::size_t repeats_for(double seconds_each, double target_s, std::size_t least, std::size_t most) {
  if (!(seconds_each > 0)) return most;
  const double fit = target_s / seconds_each;
  return fit >= static_cast<double>(most) ? most : std::max(least, static_cast<std::size_t>(fit));
}

void CsvFile::add(const CsvRow& row) {
  if (row.cells().size() != columns_.size()) {
    throw std::logic_error(fmt::format("a row of {} cells for {} columns", row.cells().size(), columns_.size()));
  }
  rows_.push_back(row.cells());
}

std::string CsvFile::text(bool sorted) const {
  std::vector<std::vector<std::string>> rows = rows_;
  if (sorted) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), cell_before);
    });
  }
  std::string result = line(columns_);
  for (const auto& row : rows) result += line(row);
  return result;
}

OutputFolder::OutputFolder(const std::string& path, bool force) : path_(path) {
  std::error_code error;
  if (std::filesystem::exists(path_, error)) {
    if (!std::filesystem::is_directory(path_, error)) {
      throw schema::InputError(fmt::format("--out {}: is there and no folder", path));
    }
    const bool empty = std::filesystem::is_empty(path_, error);
    if (error) throw schema::InputError(fmt::format("--out {}: {}", path, error.message()));
    if (!empty && !force) {
      throw schema::InputError(
          fmt::format("--out {}: the folder is not empty; name another one, or add --force", path));
    }
    return;
  }
  std::filesystem::create_directories(path_, error);
  if (error) throw schema::InputError(fmt::format("--out {}: {}", path, error.message()));
}

void OutputFolder::write(const std::string& name, std::string_view text) const {
  const std::filesystem::path target = path_ / name;
  const std::filesystem::path unfinished = path_ / (name + ".unfinished");
  std::error_code error;
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) {
      std::filesystem::remove(unfinished, error);
      throw std::runtime_error(fmt::format("cannot write {}", target.string()));
    }
  }
  std::filesystem::rename(unfinished, target, error);
  if (error) throw std::runtime_error(fmt::format("cannot write {}: {}", target.string(), error.message()));
}

}  // namespace kvsim::calibrate
