#pragma once
// The questions that a review of the paper left open, each with the command that answers it and the
// answer that the results on this machine give.

#include <string>
#include <vector>

#include "adagp/base/core/files.h"
#include "adagp/papers/study/paper.h"

namespace adagp::study {

struct ReviewAnswer {
  std::string id, question, command;
  std::string answer;  // where the command has left no result: which file is missing
  bool measured = false;
};

// `results`: the folder below which the commands wrote. What the simulators answer comes from
// `simulated`. Throws DataError for a result file that is cut off or not ours.
std::vector<ReviewAnswer> answer_review(const core::fs::path& results,
                                        const PaperResult& simulated);

std::string review_text(const std::vector<ReviewAnswer>& answers, bool markdown);
std::string review_json(const std::vector<ReviewAnswer>& answers);

}  // namespace adagp::study
