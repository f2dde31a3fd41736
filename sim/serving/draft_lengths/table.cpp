// Draft lengths looked up, as planned for this machine (kvsim plan --draft-table) or measured on it.
#include <algorithm>

#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::serving {
namespace {

class Table final : public DraftLengthPolicy {
 public:
  explicit Table(const std::vector<DraftTableRow>& rows) : rows_(rows) {}

  /// Of the rows with the smallest batch that is not below the replica's (the largest, if all are), the one with the
  /// smallest context that is not below the request's (the largest, if all are). Rows ascend in batch, then context.
  std::int64_t next(const Request& request, const DraftOutlook& outlook) override {
    const auto batch = std::max<std::int64_t>(static_cast<std::int64_t>(outlook.decoding.size()), 1);
    const auto for_batch =
        std::find_if(rows_.begin(), rows_.end(), [batch](const DraftTableRow& row) { return row.batch >= batch; });
    const std::int64_t of_batch = for_batch == rows_.end() ? rows_.back().batch : for_batch->batch;
    const DraftTableRow* found = nullptr;
    for (const DraftTableRow& row : rows_) {
      if (row.batch != of_batch) continue;
      found = &row;
      if (row.context >= request.context()) break;
    }
    return found->draft_length;
  }

  void verified(const Request&, std::int64_t, std::int64_t) override {}

 private:
  const std::vector<DraftTableRow>& rows_;
};

}  // namespace

std::unique_ptr<DraftLengthPolicy> make_table_drafts(const DraftLengthParts& parts) {
  return std::make_unique<Table>(parts.config.decode.draft_lengths.table);
}

}  // namespace kvsim::serving
