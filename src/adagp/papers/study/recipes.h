#pragma once
// The recipes that `adagp reproduce` trains by, as TOML.
// configs/recipes/cifar10/vgg13_bn-paper.toml and vgg11-term-project.toml say the same for one
// network; tests/cli/test_reproduce.py compares.

namespace adagp::study {

// The paper does not say batch size, decay and the predictor's stairs; these are ours.
inline constexpr const char* kPaperRecipe = R"(
epochs = 90
batch = 128
schedule = "auto"  # the published schedule at 90 epochs, its proportions at others
[data]
name = "cifar10"
[optim]
name = "sgd"
lr = 1e-3
momentum = 0.9
decay = 5e-4
[policy]
name = "plateau"
watch = "train"
[predictor]
lr = 1e-4
gamma = 0.1
)";

inline constexpr const char* kTermProjectRecipe = R"(
epochs = 20
batch = 32
method = "adagp"
schedule = "5ep bp, 4ep gp, 1ep bp, 3ep gp, 1ep bp, 3ep gp, 1ep bp, 2ep gp"
seed = 42
[model]
form = "imagenet"
[data]
name = "cifar10"
mean = [0.5]
std = [0.5]
[augment]
crop = "none"
flip = false
[optim]
name = "sgd"
lr = 1e-3
momentum = 0.9
decay = 0.0
[policy]
name = "plateau"
watch = "train"
factor = 0.5
patience = 3
[predictor]
kind = "remap"
remap_channels = 64
remap_outputs = 10000
tail = "last"
remap_target = "raw"
lr = 1e-4
)";

// Of 10 epochs, with the same share of GP epochs. (Its predictor learns from every BP batch, which
// costs more than the batch itself.)
inline constexpr const char* kTermProjectQuickSchedule =
    "2ep bp, 2ep gp, 1ep bp, 2ep gp, 1ep bp, 2ep gp";

}  // namespace adagp::study
