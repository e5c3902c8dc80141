# Effects on the probability scale: Rscript effects.R (R 4.2, emmeans, nnet, sandwich, jsonlite).
# Averages are computed from predict() alone; their derivatives in the coefficients are central differences.
library(emmeans)
library(jsonlite)
library(nnet)
library(sandwich)
library(splines)

lbw <- read.csv("lbw.csv")
lbw$race <- factor(lbw$race)

average <- function(fit, beta, data) {
  fit$coefficients <- beta
  mean(suppressWarnings(predict(fit, data, type = "response")))
}
delta <- function(f, fit, V) {
  beta <- coef(fit)
  h <- 1e-4 * pmax(abs(beta), 1e-2)
  gradient <- sapply(seq_along(beta), function(j) {
    e <- replace(numeric(length(beta)), j, h[j])
    (f(beta + e) - f(beta - e)) / (2 * h[j])
  })
  c(estimate = f(beta), se = sqrt(drop(gradient %*% V %*% gradient)))
}
set <- function(data, ...) { new <- list(...); for (name in names(new)) data[[name]] <- new[[name]]; data }
slope <- function(fit, name, data) function(beta) {
  h <- 1e-4 * sd(data[[name]])
  up <- set(data, x = 0); up$x <- NULL
  down <- up
  up[[name]] <- data[[name]] + h
  down[[name]] <- data[[name]] - h
  (average(fit, beta, up) - average(fit, beta, down)) / (2 * h)
}

control <- glm.control(epsilon = 1e-14)
fit <- glm(low ~ age + lwt + race + smoke, binomial, lbw, control = control)
curved <- glm(low ~ ns(age, df = 3) * smoke + lwt + race, binomial, lbw, control = control)
level <- function(k) set(lbw, race = factor(k, levels(lbw$race)))
found <- list(
  slope_age = delta(slope(fit, "age", lbw), fit, vcov(fit)),
  slope_lwt_HC1 = delta(slope(fit, "lwt", lbw), fit, vcovHC(fit, "HC1")),
  slope_age_curved = delta(slope(curved, "age", lbw), curved, vcov(curved)),
  difference_race = delta(function(b) average(fit, b, level("black")) - average(fit, b, level("white")), fit, vcov(fit)),
  log_ratio_race = delta(function(b) log(average(fit, b, level("black")) / average(fit, b, level("white"))), fit, vcov(fit)),
  log_odds_ratio_smoke = delta(function(b) {
    p <- average(fit, b, set(lbw, smoke = 1)); q <- average(fit, b, set(lbw, smoke = 0))
    log(p / (1 - p) / (q / (1 - q)))
  }, fit, vcov(fit)),
  prediction_smoke_1 = delta(function(b) average(fit, b, set(lbw, smoke = 1)), fit, vcov(fit))
)
# Estimated marginal means: every level of race at the means of the other columns, on the probability scale.
means <- emmeans(fit, "race", regrid = "response")
found$emmeans <- as.data.frame(means)[, c("prob", "SE")]
found$pairs <- as.data.frame(pairs(means, adjust = "none"))[, c("estimate", "SE")]
# Three classes.
lbw$weight <- cut(lbw$bwt, c(0, 2500, 3200, 6000), labels = c("a", "b", "c"))
several <- multinom(weight ~ lwt + smoke, lbw, trace = FALSE, maxit = 1000, reltol = 1e-15, abstol = 1e-12, Hess = TRUE)
beta <- as.vector(t(coef(several)))
V <- vcov(several)
probabilities <- function(beta, data) {
  Z <- cbind(1, data$lwt, data$smoke)
  eta <- cbind(0, Z %*% t(matrix(beta, 2, byrow = TRUE)))
  exp(eta) / rowSums(exp(eta))
}
difference <- function(beta) colMeans(probabilities(beta, set(lbw, smoke = 1)) - probabilities(beta, set(lbw, smoke = 0)))
gradient <- sapply(seq_along(beta), function(j) {
  e <- replace(numeric(length(beta)), j, 1e-5)
  (difference(beta + e) - difference(beta - e)) / 2e-5
})
found$several <- data.frame(estimate = difference(beta), se = sqrt(diag(gradient %*% V %*% t(gradient))))
write(toJSON(found, digits = 12, auto_unbox = TRUE, pretty = TRUE), "effects.json")
