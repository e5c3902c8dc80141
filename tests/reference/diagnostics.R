# Diagnostics of logistic regressions: Rscript diagnostics.R (R 4.2, car, rms, jsonlite).
suppressMessages(library(car))
library(jsonlite)
suppressMessages(library(rms))

lbw <- read.csv("lbw.csv", stringsAsFactors = TRUE)
fit <- glm(low ~ age + lwt + race + smoke + ptl, binomial, lbw, control = glm.control(epsilon = 1e-14, maxit = 50))
measures <- influence.measures(fit)$infmat
test <- residuals(lrm(low ~ age + lwt + race + smoke + ptl, lbw, x = TRUE, y = TRUE, tol = 1e-14, eps = 1e-12), "gof")
eta <- predict(fit)
link <- glm(lbw$low ~ eta + I(eta^2), binomial, control = glm.control(epsilon = 1e-14))
p <- fitted(fit)
group <- cut(p, quantile(p, 0:10 / 10), include.lowest = TRUE)
observed <- tapply(lbw$low, group, sum)
expected <- tapply(p, group, sum)
n <- tapply(p, group, length)
hosmer <- sum((observed - expected)^2 / (expected * (1 - expected / n)))
inflation <- car::vif(fit)
found <- list(
  pearson = residuals(fit, "pearson"), deviance = residuals(fit, "deviance"), leverage = hatvalues(fit),
  cooks = cooks.distance(fit), dfbetas = unname(measures[, seq_along(coef(fit))]),
  vif = data.frame(term = rownames(inflation), inflation),
  le_cessie = as.list(test), link = summary(link)$coefficients[3, ],
  hosmer = c(hosmer, pchisq(hosmer, 8, lower.tail = FALSE))
)
write(toJSON(found, digits = NA, auto_unbox = TRUE), "diagnostics.json")
