#pragma once
// What the parts of the comparison with the paper share.

#include <string>
#include <vector>

#include "adagp/papers/study/details.h"
#include "adagp/papers/study/paper.h"
#include "adagp/papers/study/study.h"

namespace adagp::study {

Options options_for(const PaperOptions& paper, const std::string& model, const std::string& input,
                    const std::string& dataflow);

// Those of a data set ("": of all) and dataflow, and a mean over them.
std::vector<const NetworkResult*> chosen(const std::vector<NetworkResult>& networks,
                                         const std::string& dataflow, const std::string& input);
double mean(const std::vector<const NetworkResult*>& networks, double NetworkResult::*field);

// `note` stays where ours is missing or more than 3 % away.
void add(PaperResult& result, Comparison comparison, const Note& note);

// Whether there is a layer table of the model for the input.
bool known(const std::string& model, const std::string& input);
// Of one of the four designs.
const accel::DesignResult& result_of(const Details& details, const accel::Design& design);

// Fig. 16.
void compare_layers(const PaperOptions& paper, PaperResult& result);
// Equal power and area, after the networks were measured.
void compare_equal_budget(const PaperOptions& paper, PaperResult& result);
// Tables 4 and 5 beside the counts of our RTL.
void compare_resources(PaperResult& result);
// Fig. 20.
void compare_pipelines(const PaperOptions& paper, PaperResult& result);
// What only training can show: Fig. 15, Table 1, the accuracies of Tables 2 and 3.
void compare_accuracy(const PaperOptions& paper, PaperResult& result);

}  // namespace adagp::study
