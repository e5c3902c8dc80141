# Rscript inference.R: makes inference.json in this directory, the numbers of R that tests of inference compare with.
library(sandwich)
library(jsonlite)

# The tolerance for aliased columns is a thousandth of epsilon.
tight <- list(epsilon = 1e-10)
tightest <- list(epsilon = 1e-15, maxit = 100)
clinics <- read.csv("clinics.csv")
clinics$clinic <- factor(clinics$clinic)
clinics$region <- factor(clinics$region)
fit <- function(formula) glm(formula, binomial, clinics, control = tight)
errors <- function(covariance) as.list(sqrt(diag(covariance)))

# Clinics are nested in regions: two of their marks follow from those of the regions.
nested <- fit(ill ~ x + region + clinic)
tests <- drop1(nested, test = "LRT")
aliased <- list(
  robust = errors(vcovHC(nested, "HC0")),
  model = errors(vcov(nested)),
  profile = apply(suppressMessages(confint(nested, level = 0.95)), 1, as.list),
  statistic = setNames(as.list(tests$LRT), rownames(tests)),
  df = setNames(as.list(tests$Df), rownames(tests))
)

# Sandwich covariances without weights, by ward, and of importance weights; survey::svyglm for these.
plain <- glm(ill ~ x + age + region, binomial, clinics, control = tightest)
kinds <- c("HC0", "HC1", "HC2", "HC3")
sandwiches <- setNames(lapply(kinds, function(kind) errors(vcovHC(plain, kind))), kinds)
sandwiches$CR0 <- errors(vcovCL(plain, clinics$ward, type = "HC0", cadjust = FALSE))
sandwiches$CR1 <- errors(vcovCL(plain, clinics$ward, type = "HC0", cadjust = TRUE))
weighted <- suppressWarnings(glm(ill ~ x + age + region, binomial, clinics, weights = survey, control = tightest))
design <- survey::svydesign(ids = ~1, weights = ~survey, data = clinics)
survey_fit <- suppressWarnings(survey::svyglm(ill ~ x + age + region, design, family = binomial, control = tightest))
importance <- list(
  coef = as.list(coef(weighted)),
  HC = setNames(lapply(kinds, function(kind) errors(vcovHC(weighted, kind))), kinds),
  svyglm = errors(vcov(survey_fit)),
  naive = errors(vcov(weighted))
)

# Quasi-complete separation: the deviance has a limit, that of the rows which are not separated, and profiles rise from
# it. NV goes to infinity.
endometrial <- read.csv("endometrial.csv")
binary <- function(formula, data = endometrial) suppressWarnings(glm(formula, binomial, data, control = list(epsilon = 1e-13, maxit = 100)))
limit <- deviance(binary(HG ~ PI + EH, subset(endometrial, NV == 0)))
end <- function(deviance_at, from, to) uniroot(function(v) deviance_at(v) - limit - qchisq(0.95, 1), c(from, to), tol = 1e-10)$root
held <- list(
  NV = function(v) deviance(binary(HG ~ PI + EH + offset(v * NV), transform(endometrial, v = v))),
  PI = function(v) deviance(binary(HG ~ EH + offset(v * PI), transform(subset(endometrial, NV == 0), v = v))),
  EH = function(v) deviance(binary(HG ~ PI + offset(v * EH), transform(subset(endometrial, NV == 0), v = v)))
)
remaining <- coef(binary(HG ~ PI + EH, subset(endometrial, NV == 0)))
separated <- list(
  NV = c(end(held$NV, -3, 10), NA),
  PI = c(end(held$PI, -1, remaining[["PI"]]), end(held$PI, remaining[["PI"]], 1)),
  EH = c(end(held$EH, -9, remaining[["EH"]]), end(held$EH, remaining[["EH"]], 3))
)

# Firth's penalised likelihood ratio of NV: the penalty is that of all coefficients, NV held at 0.
X <- cbind(1, as.matrix(endometrial[c("NV", "PI", "EH")]))
penalised <- function(free, held_at_zero) {
  b <- rep(0, 4)
  b[setdiff(1:4, held_at_zero)] <- free
  p <- plogis(drop(X %*% b))
  -sum(dbinom(endometrial$HG, 1, p, log = TRUE)) - determinant(crossprod(X * sqrt(p * (1 - p))))$modulus / 2
}
least <- function(held_at_zero) {
  best <- optim(rep(0, 4 - length(held_at_zero)), penalised, held_at_zero = held_at_zero, method = "BFGS",
                control = list(reltol = 1e-15, maxit = 5000))
  best <- optim(best$par, penalised, held_at_zero = held_at_zero, control = list(reltol = 1e-15, maxit = 50000))
  best$value
}
whole <- least(integer(0))
firth <- list(NV = 2 * (least(2) - whole), PI_and_EH = 2 * (least(c(3, 4)) - whole))

# Likelihood-ratio tests of nested models.
ratio <- anova(fit(ill ~ x), fit(ill ~ x + age + region), test = "LRT")
nested_test <- list(statistic = ratio$Deviance[2], df = ratio$Df[2], p_value = ratio$`Pr(>Chi)`[2])

write_json(
  list(
    aliased = aliased, sandwiches = sandwiches, importance = importance, separated = separated, firth = firth,
    nested = nested_test, R = R.version.string, sandwich = as.character(packageVersion("sandwich")),
    survey = as.character(packageVersion("survey"))
  ),
  "inference.json", auto_unbox = TRUE, digits = NA, pretty = TRUE, na = "null"
)
