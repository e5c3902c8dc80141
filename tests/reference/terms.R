# Rscript terms.R: makes terms.json in this directory, the numbers of R that tests of formulas, terms and linear
# hypotheses compare with. The data: terms.csv.
suppressMessages({
  library(car)
  library(jsonlite)
  library(mgcv)
  library(nnet)
  library(sandwich)
})

people <- read.csv("terms.csv", stringsAsFactors = TRUE)
people$severity <- factor(people$severity, levels = c("mild", "moderate", "severe"))
tight <- list(epsilon = 1e-10, maxit = 100)
fit <- function(formula, ...) glm(formula, binomial, people, control = tight, ...)
coefficients_of <- function(model) list(
  coef = as.list(coef(model)),
  se = as.list(sqrt(diag(vcov(model)))),
  deviance = deviance(model)
)
table_of <- function(tests) {
  tests <- as.data.frame(tests)
  tests <- tests[!is.na(tests$Df) & !(rownames(tests) %in% c("<none>", "Residuals")), ]
  statistic <- tests[[intersect(c("LR Chisq", "LRT"), names(tests))]]
  list(statistic = setNames(as.list(statistic), rownames(tests)), df = setNames(as.list(tests$Df), rownames(tests)))
}

# Contrasts, with the fits that have them.
contrasts_by <- list(sum = contr.sum, helmert = contr.helmert, poly = contr.poly)
coded <- lapply(contrasts_by, function(coding) coefficients_of(
  fit(ill ~ severity * dose + age, contrasts = list(severity = coding))
))
matrices <- lapply(contrasts_by, function(coding) coding(5))

# Natural cubic regression splines in mgcv's parametrisation, without and with the centring constraint.
knots <- quantile(unique(people$age), c(0, 1 / 3, 2 / 3, 1))
smooth <- s(age, bs = "cr", k = 4)
plain <- smoothCon(smooth, people, knots = list(age = knots))[[1]]
centred <- smoothCon(smooth, people, knots = list(age = knots), absorb.cons = TRUE)[[1]]
new <- data.frame(age = c(5, 30, 44.4, 60, 120))
splines <- list(
  age = new$age,
  plain = PredictMat(plain, new),
  centred = PredictMat(centred, new),
  fit = deviance(fit(ill ~ centred$X + sex))
)

# An offset.
people$known <- people$age / 50
with_offset <- fit(ill ~ sex + dose + offset(known) + offset(log(dose)))
offsets <- c(
  coefficients_of(with_offset),
  list(
    null_deviance = with_offset$null.deviance,
    probabilities = unname(head(fitted(with_offset), 5)),
    type2 = table_of(Anova(with_offset, type = 2)),
    profile = apply(suppressMessages(confint(with_offset)), 1, as.list)
  )
)

# Tests of terms. Types II and III by likelihood ratio; type III with contrasts that sum to zero.
models <- list(
  "ill ~ sex * dose" = ill ~ sex * dose,
  "ill ~ sex * region + age" = ill ~ sex * region + age,
  "ill ~ sex * region * dose" = ill ~ sex * region * dose,
  "ill ~ region + clinic + age" = ill ~ region + clinic + age,
  "ill ~ region + region:dose" = ill ~ region + region:dose,
  "ill ~ severity * poly(age, 2) + sex" = ill ~ severity * poly(age, 2) + sex
)
sum_to_zero <- list(sex = contr.sum, region = contr.sum, severity = contr.sum, clinic = contr.sum)
terms <- lapply(models, function(formula) {
  variables <- all.vars(formula)
  model <- fit(formula)
  summed <- fit(formula, contrasts = sum_to_zero[names(sum_to_zero) %in% variables])
  nested <- any(is.na(coef(model)))
  c(
    list(type2 = table_of(Anova(model, type = 2)), drop1 = table_of(drop1(model, test = "LRT"))),
    if (!nested) list(type3 = table_of(Anova(summed, type = 3)))
  )
})
weighted <- table_of(Anova(glm(ill ~ sex * region, binomial, people, weights = times, control = tight), type = 2))

# Three classes.
several <- multinom(severity ~ sex * region + age, people, reltol = 1e-14, maxit = 1000, trace = FALSE)
multinomial <- list(type2 = table_of(Anova(several, type = 2)))
options(contrasts = c("contr.sum", "contr.poly"))  # what car makes the columns of a multinom with
several <- multinom(severity ~ sex * region + age, people, reltol = 1e-14, maxit = 1000, trace = FALSE)
multinomial$type3 <- table_of(Anova(several, type = 3))
options(contrasts = c("contr.treatment", "contr.poly"))

# Linear hypotheses: Wald tests.
wald <- function(model, hypothesis, ...) {
  found <- linearHypothesis(model, hypothesis, test = "Chisq", ...)
  list(statistic = found$Chisq[2], df = found$Df[2], p = found[["Pr(>Chisq)"]][2])
}
model <- fit(ill ~ region + dose + age)
multi <- multinom(severity ~ region + age, people, reltol = 1e-14, maxit = 1000, trace = FALSE)
hypotheses <- list(
  equal = wald(model, "regionnorth = regionsouth"),
  value = wald(model, "dose = 0.1"),
  sum = wald(model, "2*dose - 10*age + (Intercept) = 0.5"),
  both = wald(model, c("regionnorth = regionsouth", "dose = 10*age")),
  robust = wald(model, c("regionnorth = regionsouth", "dose = 10*age"), vcov. = vcovHC(model, "HC0")),
  clustered = wald(model, "regionnorth = regionsouth", vcov. = vcovCL(model, people$clinic, type = "HC0")),
  outcomes = wald(multi, c("moderate:age = severe:age")),
  each = wald(multi, c("moderate:regionnorth = moderate:regionsouth", "severe:regionnorth = severe:regionsouth"))
)

write_json(
  list(
    R = R.version.string, car = as.character(packageVersion("car")), mgcv = as.character(packageVersion("mgcv")),
    contrasts = coded, matrices = matrices, splines = splines, offsets = offsets, terms = terms, weighted = weighted,
    multinomial = multinomial, hypotheses = hypotheses
  ),
  "terms.json", auto_unbox = TRUE, digits = NA, pretty = TRUE, na = "null"
)
